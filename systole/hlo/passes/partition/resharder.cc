#include "systole/hlo/passes/partition/resharder.h"

#include <algorithm>
#include <map>

#include "systole/base/error.h"

namespace systole::hlo::spmd {
namespace {

size_t common_prefix(const Atoms& a, const Atoms& b) {
  const auto [end, unused] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<size_t>(end - a.begin());
}

bool uses(const Layout& layout, int atom) {
  return std::ranges::any_of(layout.dims, [&](const Atoms& atoms) {
    return std::ranges::find(atoms, atom) != atoms.end();
  });
}

// Devices by the part that they have, and the term of it along the atoms `unreduced`.
std::map<std::vector<int64_t>, std::vector<int64_t>> owners(const Grid& grid,
                                                            const std::vector<Atoms>& dims,
                                                            const Atoms& unreduced) {
  std::map<std::vector<int64_t>, std::vector<int64_t>> result;
  for (int64_t device = 0; device < grid.num_devices(); ++device) {
    std::vector<int64_t> part{grid.index(unreduced, device)};
    for (const Atoms& atoms : dims) part.push_back(grid.index(atoms, device));
    result[part].push_back(device);
  }
  return result;
}

}  // namespace

TensorType local_type(const Grid& grid, const TensorType& whole, const Layout& layout) {
  TensorType type = whole;
  for (int d = 0; d < type.shape.rank(); ++d) {
    type.shape.set_dim(d, whole.shape[d] / grid.size(layout.dims[d]));
  }
  return type;
}

Value Resharder::reshard(Builder& b, Value part, Layout from, const Layout& to) {
  if (from == to) return part;
  part = add_up(b, part, from, to);
  part = keep_part_as_term(b, part, from, to);
  part = move(b, part, from, to);
  return keep_one_term(b, part, from, to);
}

// If the sum shall be split along one axis by just the atoms that it is added up over, each device
// gets its part of it alone.
Value Resharder::add_up(Builder& b, Value part, Layout& from, const Layout& to) {
  const Atoms summed = without(from.unreduced, to.unreduced);
  if (summed.empty()) return part;
  from.unreduced = common(from.unreduced, to.unreduced);
  for (size_t d = 0; d < to.dims.size(); ++d) {
    const size_t kept = from.dims[d].size();
    if (common_prefix(from.dims[d], to.dims[d]) != kept) continue;
    const Atoms added(to.dims[d].begin() + static_cast<int64_t>(kept), to.dims[d].end());
    if (united(added, {}) != summed) continue;
    from.dims[d] = to.dims[d];
    return reduce_scatter(b, part, added, static_cast<int64_t>(d), Opcode::add);
  }
  return all_reduce(b, part, summed, Opcode::add);
}

Value Resharder::keep_part_as_term(Builder& b, Value part, Layout& from, const Layout& to) const {
  for (size_t d = 0; d < to.dims.size(); ++d) {
    const size_t kept = common_prefix(from.dims[d], to.dims[d]);
    const Atoms split(from.dims[d].begin() + static_cast<int64_t>(kept), from.dims[d].end());
    if (split.empty() || !without(split, without(to.unreduced, from.unreduced)).empty()) continue;
    TensorType type = part.type();
    const int64_t size = type.shape[static_cast<int>(d)];
    type.shape.set_dim(static_cast<int>(d), size * grid_.size(split));
    std::vector<Value> starts(to.dims.size(), b.constant(Tensor::full(DType::s64, {}, 0)));
    starts[d] = index(b, split, size);
    part = b.dynamic_update_slice(b.splat(type, 0), part, starts);
    from.dims[d].resize(kept);
    from.unreduced = united(from.unreduced, split);
  }
  return part;
}

Value Resharder::keep_one_term(Builder& b, Value part, const Layout& from, const Layout& to) const {
  const Atoms added = without(to.unreduced, from.unreduced);
  if (added.empty()) return part;
  const Value place = index(b, added, 1);
  const Value is_first = b.compare(place, b.scalar(DType::s64, 0), ComparisonDirection::eq);
  return b.select(is_first, part, b.splat(part.type(), 0));
}

Value Resharder::move(Builder& b, Value part, Layout& from, const Layout& to) {
  part = slice(b, part, from, to);
  if (from.dims == to.dims) return part;
  bool same_shape = true;
  for (size_t d = 0; d < to.dims.size(); ++d) {
    same_shape = same_shape && grid_.size(from.dims[d]) == grid_.size(to.dims[d]);
  }
  if (same_shape) return permute(b, part, from, to);
  while (move_axis(b, part, from, to)) {
  }
  part = gather(b, part, from, to);
  return slice(b, part, from, to);
}

Value Resharder::index(Builder& b, const Atoms& atoms, int64_t scale) const {
  Tensor table(DType::s64, Shape{grid_.num_devices()});
  for (int64_t device = 0; device < grid_.num_devices(); ++device) {
    table.data<int64_t>()[device] = grid_.index(atoms, device) * scale;
  }
  const Value device = b.op(Opcode::partition_id, {})->result();
  const Value row = b.dynamic_slice(b.constant(std::move(table)), {{device}}, {1});
  return b.reshape(row, {});
}

// Splits axes further whose atoms are the first of those that they shall have.
Value Resharder::slice(Builder& b, Value part, Layout& from, const Layout& to) const {
  const Shape& shape = part.shape();
  std::vector<Atoms> added(to.dims.size());
  for (size_t d = 0; d < to.dims.size(); ++d) {
    Atoms& atoms = from.dims[d];
    const Atoms& wanted = to.dims[d];
    if (common_prefix(atoms, wanted) != atoms.size()) continue;
    for (size_t k = atoms.size(); k < wanted.size() && !uses(from, wanted[k]); ++k) {
      added[d].push_back(wanted[k]);
    }
    atoms.insert(atoms.end(), added[d].begin(), added[d].end());
  }
  if (std::ranges::all_of(added, &Atoms::empty)) return part;
  const Value zero = b.constant(Tensor::full(DType::s64, {}, 0));
  std::vector<Value> starts(added.size(), zero);
  Dims sizes = shape.dims();
  for (size_t d = 0; d < added.size(); ++d) {
    if (added[d].empty()) continue;
    sizes[d] /= grid_.size(added[d]);
    starts[d] = index(b, added[d], sizes[d]);
  }
  return b.dynamic_slice(part, starts, sizes);
}

Value Resharder::permute(Builder& b, Value part, const Layout& from, const Layout& to) {
  const auto sources = owners(grid_, from.dims, from.unreduced);
  CollectivePermuteAttrs attrs;
  for (const auto& [block, targets] : owners(grid_, to.dims, from.unreduced)) {
    std::vector<int64_t> left = sources.at(block);
    std::vector<int64_t> open;
    for (const int64_t target : targets) {
      const auto own = std::ranges::find(left, target);
      if (own == left.end()) {
        open.push_back(target);
      } else {
        attrs.source_target_pairs.emplace_back(target, target);
        left.erase(own);
      }
    }
    for (size_t i = 0; i < open.size(); ++i) {
      attrs.source_target_pairs.emplace_back(left[i], open[i]);
    }
  }
  std::ranges::sort(attrs.source_target_pairs);
  const auto stays = [](const std::pair<int64_t, int64_t>& pair) {
    return pair.first == pair.second;
  };
  if (std::ranges::all_of(attrs.source_target_pairs, stays)) return part;
  attrs.channel_handle = next_channel();
  return b.op(Opcode::collective_permute, {part}, std::move(attrs))->result();
}

// Moves the minor atoms of an axis to another axis that wants them next. Returns whether it did.
bool Resharder::move_axis(Builder& b, Value& part, Layout& from, const Layout& to) {
  const auto rank = static_cast<int>(to.dims.size());
  for (int source = 0; source < rank; ++source) {
    Atoms& atoms = from.dims[source];
    const size_t kept = common_prefix(atoms, to.dims[source]);
    for (size_t begin = kept; begin < atoms.size(); ++begin) {
      const Atoms moved(atoms.begin() + static_cast<int64_t>(begin), atoms.end());
      for (int target = 0; target < rank; ++target) {
        Atoms extended = from.dims[target];
        extended.insert(extended.end(), moved.begin(), moved.end());
        if (target == source || common_prefix(extended, to.dims[target]) != extended.size())
          continue;
        AllToAllAttrs attrs{.split_dimension = target,
                            .concat_dimension = source,
                            .split_count = grid_.size(moved),
                            .groups = groups(moved, false)};
        part = b.op(Opcode::all_to_all, {part}, std::move(attrs))->result();
        atoms.resize(begin);
        from.dims[target] = std::move(extended);
        return true;
      }
    }
  }
  return false;
}

Value Resharder::gather(Builder& b, Value part, Layout& from, const Layout& to) {
  for (size_t d = 0; d < to.dims.size(); ++d) {
    Atoms& atoms = from.dims[d];
    const size_t kept = common_prefix(atoms, to.dims[d]);
    if (kept == atoms.size()) continue;
    const Atoms gathered(atoms.begin() + static_cast<int64_t>(kept), atoms.end());
    AllGatherAttrs attrs{.all_gather_dim = static_cast<int64_t>(d),
                         .groups = groups(gathered, true)};
    part = b.op(Opcode::all_gather, {part}, std::move(attrs))->result();
    atoms.resize(kept);
  }
  return part;
}

CollectiveAttrs Resharder::groups(const Atoms& atoms, bool flattened) {
  const std::vector<std::vector<int64_t>> rows = grid_.groups(atoms);
  const auto columns = static_cast<int64_t>(rows[0].size());
  const int copies = flattened ? num_replicas_ : 1;
  Tensor ids(DType::s64, Shape{copies * static_cast<int64_t>(rows.size()), columns});
  auto to = ids.data<int64_t>().begin();
  for (int copy = 0; copy < copies; ++copy) {
    for (const std::vector<int64_t>& row : rows) {
      for (const int64_t device : row) *to++ = copy * grid_.num_devices() + device;
    }
  }
  return {.replica_groups = std::move(ids),
          .channel_handle = next_channel(),
          .use_global_device_ids = flattened};
}

Value Resharder::all_reduce(Builder& b, Value part, const Atoms& atoms, Opcode reducer) {
  return b
      .op_with_regions(Opcode::all_reduce, {part}, groups(atoms, true),
                       [&](Instruction& x) { fill_reducer(x.add_region(), reducer, part.dtype()); })
      ->result();
}

Value Resharder::reduce_scatter(Builder& b, Value part, const Atoms& atoms, int64_t axis,
                                Opcode reducer) {
  return b
      .op_with_regions(Opcode::reduce_scatter, {part},
                       ReduceScatterAttrs{.scatter_dimension = axis, .groups = groups(atoms, true)},
                       [&](Instruction& x) { fill_reducer(x.add_region(), reducer, part.dtype()); })
      ->result();
}

Value Resharder::mirror(Builder& b, Value part, const Atoms& atoms) {
  if (atoms.empty()) return part;
  CollectivePermuteAttrs attrs;
  for (const std::vector<int64_t>& row : grid_.groups(atoms)) {
    for (size_t i = 0; i < row.size(); ++i) {
      attrs.source_target_pairs.emplace_back(row[i], row[row.size() - 1 - i]);
    }
  }
  std::ranges::sort(attrs.source_target_pairs);
  attrs.channel_handle = next_channel();
  return b.op(Opcode::collective_permute, {part}, std::move(attrs))->result();
}

Value Resharder::from_first_device(Builder& b, Value value) {
  Atoms all;
  for (int atom = 0; atom < grid_.num_atoms(); ++atom) all.push_back(atom);
  return b
      .op(Opcode::collective_broadcast, {value},
          RootedCollectiveAttrs{.groups = groups(all, false)})
      ->result();
}

}  // namespace systole::hlo::spmd
