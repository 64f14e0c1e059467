// Collective ops become data movement and reductions along the replica axis.
#include <algorithm>
#include <functional>
#include <map>

#include "systole/base/error.h"
#include "systole/hlo/passes/replicas/groups.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/passes/replicas/vectorizer.h"

namespace systole::hlo::replicas {
namespace {

using Group = std::vector<int64_t>;

Value zeros(Vectorizer& v, const TensorType& type) { return v.b().splat(type, 0); }

std::vector<Value> lanes_of(Vectorizer& v, Value stacked, const Group& group) {
  std::vector<Value> lanes;
  for (const int64_t replica : group) lanes.push_back(v.lane(stacked, replica));
  return lanes;
}

// Calls `make` once per group and returns its values for all replicas: stacked, or a single value
// if all replicas are one group. Replicas without a group get zeros.
Value by_group(Vectorizer& v, const std::vector<Group>& groups, const TensorType& type,
               const std::function<Value(const Group&)>& make) {
  if (is_one_group(groups)) return make(groups[0]);
  std::map<Group, Value> made;
  std::vector<Value> lanes;
  for (const Group& group : groups) {
    const auto [entry, is_new] = made.try_emplace(group);
    if (is_new) entry->second = group.empty() ? zeros(v, type) : make(group);
    lanes.push_back(entry->second);
  }
  return v.num_replicas() == 1 ? lanes[0] : v.stack(lanes);
}

// -- all_reduce and reduce_scatter

// Applies `region` at every element.
Value apply(Vectorizer& v, const Computation& region, Value x, Value y) {
  Dims dimensions;
  for (int64_t axis = 0; axis < x.shape().rank(); ++axis) dimensions.push_back(axis);
  const auto copy_region = [&](Instruction& copy) {
    ValueMap none;
    copy.add_region().clone_from(region, none);
  };
  return v.b()
      .op_with_regions(Opcode::map, {x, y}, DimensionsAttrs{dimensions}, copy_region)
      ->result();
}

// Reduces the lanes of `group` in order.
Value reduce_group(Vectorizer& v, Instruction& x, Value stacked, const Group& group, DType dtype) {
  const Value wide = v.b().convert(stacked, dtype);
  const std::optional<Opcode> reducer = match_reducer(x.region());
  const bool in_order =
      std::ranges::is_sorted(group) && static_cast<int64_t>(group.size()) == v.num_replicas();
  if (reducer && in_order) return v.b().reduce(wide, *reducer, {0});
  std::vector<Value> lanes = lanes_of(v, wide, group);
  if (reducer) return v.b().reduce(v.stack(lanes), *reducer, {0});
  Value result = lanes[0];
  for (size_t i = 1; i < lanes.size(); ++i) result = apply(v, x.region(), result, lanes[i]);
  return result;
}

bool is_sum(const Instruction& x, Value operand, DType dtype) {
  return match_reducer(x.region()) == Opcode::add && operand.dtype() == dtype &&
         dtype != DType::pred;
}

}  // namespace

bool is_plain_sum(const Vectorizer& v, const Instruction& x, Value operand) {
  if (!x.is(Opcode::all_reduce)) return false;
  if (!is_one_group(groups_of(x, static_cast<int>(v.num_replicas())))) return false;
  for (int i = 0; i < x.num_operands(); ++i) {
    const DType dtype = x.results()[i].dtype;
    if (x.operand(i) == operand && !is_sum(x, operand, dtype)) return false;
  }
  return true;
}

std::vector<Value> vectorize_all_reduce(Vectorizer& v, Instruction& x) {
  const std::vector<Group> groups = groups_of(x, static_cast<int>(v.num_replicas()));
  std::vector<Value> results;
  for (int i = 0; i < x.num_operands(); ++i) {
    const Value operand = x.operand(i);
    const TensorType& type = x.results()[i];
    if (v.num_replicas() == 1) {
      results.push_back(v.b().convert(v.at(operand), type.dtype));
    } else if (is_one_group(groups) && v.varying(operand) && is_sum(x, operand, type.dtype)) {
      results.push_back(v.sum_over_replicas(operand));
    } else {
      const Value stacked = v.stacked(operand);
      results.push_back(by_group(v, groups, type, [&](const Group& group) {
        return reduce_group(v, x, stacked, group, type.dtype);
      }));
    }
  }
  return results;
}

namespace {

// Computes each lane with `make(group, place)`, for the replica at that place of its group.
Value by_place(Vectorizer& v, const std::vector<Group>& groups, const TensorType& type,
               const std::function<Value(const Group&, int64_t)>& make) {
  std::vector<Value> lanes;
  for (size_t replica = 0; replica < groups.size(); ++replica) {
    const Group& group = groups[replica];
    const auto place = std::ranges::find(group, static_cast<int64_t>(replica)) - group.begin();
    lanes.push_back(group.empty() ? zeros(v, type) : make(group, place));
  }
  return v.num_replicas() == 1 ? lanes[0] : v.stack(lanes);
}

// Returns part `i` of `count` equal parts.
Value part_of(Vectorizer& v, Value x, int64_t axis, int64_t count, int64_t i) {
  Dims start(static_cast<size_t>(x.shape().rank()), 0);
  Dims limit = x.shape().dims();
  const auto a = static_cast<size_t>(axis);
  const int64_t size = limit[a] / count;
  start[a] = i * size;
  limit[a] = start[a] + size;
  return v.b().slice(x, start, limit);
}

// Also for one replica, whose value is not stacked.
Value stacked_operand(Vectorizer& v, Value old) {
  return v.num_replicas() == 1 ? v.b().reshape(v.at(old), v.stacked_type(old.type()).shape)
                               : v.stacked(old);
}

}  // namespace

std::vector<Value> vectorize_reduce_scatter(Vectorizer& v, Instruction& x) {
  const std::vector<Group> groups = groups_of(x, static_cast<int>(v.num_replicas()));
  const int64_t axis = x.attrs<ReduceScatterAttrs>().scatter_dimension;
  const Value stacked = stacked_operand(v, x.operand(0));
  std::map<Group, Value> reduced;
  return {by_place(v, groups, x.type(), [&](const Group& group, int64_t place) {
    const auto [entry, is_new] = reduced.try_emplace(group);
    if (is_new) entry->second = reduce_group(v, x, stacked, group, x.dtype());
    return part_of(v, entry->second, axis, static_cast<int64_t>(group.size()), place);
  })};
}

// -- Movement

std::vector<Value> vectorize_all_gather(Vectorizer& v, Instruction& x) {
  const std::vector<Group> groups = groups_of(x, static_cast<int>(v.num_replicas()));
  const int64_t axis = x.attrs<AllGatherAttrs>().all_gather_dim;
  std::vector<Value> results;
  for (int i = 0; i < x.num_operands(); ++i) {
    const Value stacked = stacked_operand(v, x.operand(i));
    const TensorType& type = x.results()[i];
    results.push_back(by_group(v, groups, type, [&](const Group& group) {
      const bool in_order = std::ranges::is_sorted(group);
      const bool all = static_cast<int64_t>(group.size()) == v.num_replicas();
      if (in_order && all) return v.merge_lanes(stacked, axis);
      return v.b().concatenate(lanes_of(v, stacked, group), axis);
    }));
  }
  return results;
}

void check_split_count(const AllToAllAttrs& attrs, const Group& group) {
  if (static_cast<int64_t>(group.size()) == attrs.split_count) return;
  throw invalid_argument("all_to_all: split_count, got {} for a group of {}, expected as many",
                         attrs.split_count, group.size());
}

std::vector<Value> vectorize_all_to_all(Vectorizer& v, Instruction& x) {
  const auto& attrs = x.attrs<AllToAllAttrs>();
  const std::vector<Group> groups = groups_of(x, static_cast<int>(v.num_replicas()));
  std::vector<Value> results;
  for (int i = 0; i < x.num_operands(); ++i) {
    const Value stacked = stacked_operand(v, x.operand(i));
    const TensorType& type = x.results()[i];
    results.push_back(by_place(v, groups, type, [&](const Group& group, int64_t place) {
      check_split_count(attrs, group);
      std::vector<Value> parts = lanes_of(v, stacked, group);
      for (Value& part : parts) {
        part = part_of(v, part, attrs.split_dimension, attrs.split_count, place);
      }
      return v.b().concatenate(parts, attrs.concat_dimension);
    }));
  }
  return results;
}

std::vector<Value> vectorize_collective_permute(Vectorizer& v, Instruction& x) {
  const auto& pairs = x.attrs<CollectivePermuteAttrs>().source_target_pairs;
  const std::vector<Group> groups = groups_of(x, static_cast<int>(v.num_replicas()));
  const Value stacked = stacked_operand(v, x.operand(0));
  return {by_place(v, groups, x.type(), [&](const Group& group, int64_t place) {
    const auto size = static_cast<int64_t>(group.size());
    std::optional<int64_t> from;
    for (const auto& [source, target] : pairs) {
      if (std::max(source, target) >= size) {
        throw no_such_process(x, "source_target_pairs", std::max(source, target), size);
      }
      if (target == place) from = source;
    }
    return from ? v.lane(stacked, group[*from]) : zeros(v, x.type());
  })};
}

// -- Collectives with a root

// Returns the place of the root of operand `i` in the replica's group, as a scalar.
Value root_of(Vectorizer& v, Instruction& x, int i, int64_t replica) {
  if (!x.attrs<RootedCollectiveAttrs>().has_dynamic_root) return v.b().scalar(DType::s32, 0);
  const Value roots = v.lane(stacked_operand(v, x.operands().back()), replica);
  return v.b().reshape(v.b().slice(roots, {i}, {i + 1}), {});
}

int num_arrays(const Instruction& x) {
  return x.num_operands() - (x.attrs<RootedCollectiveAttrs>().has_dynamic_root ? 1 : 0);
}

std::vector<Value> vectorize_collective_broadcast(Vectorizer& v, Instruction& x) {
  const std::vector<Group> groups = groups_of(x, static_cast<int>(v.num_replicas()));
  const bool moves = x.attrs<RootedCollectiveAttrs>().has_dynamic_root;
  std::vector<Value> results;
  for (int i = 0; i < num_arrays(x); ++i) {
    const Value stacked = stacked_operand(v, x.operand(i));
    const TensorType& type = x.results()[i];
    if (!moves) {
      results.push_back(
          by_group(v, groups, type, [&](const Group& group) { return v.lane(stacked, group[0]); }));
      continue;
    }
    results.push_back(by_place(v, groups, type, [&](const Group& group, int64_t place) {
      const Value members = v.stack(lanes_of(v, stacked, group));
      std::vector<Value> starts(static_cast<size_t>(members.shape().rank()),
                                v.b().scalar(DType::s32, 0));
      starts[0] = root_of(v, x, i, group[place]);
      Dims sizes = with_front(type.shape.dims(), 1);
      return v.b().reshape(v.b().dynamic_slice(members, starts, sizes), type.shape);
    }));
  }
  return results;
}

std::vector<Value> vectorize_collective_reduce(Vectorizer& v, Instruction& x) {
  const std::vector<Group> groups = groups_of(x, static_cast<int>(v.num_replicas()));
  std::vector<Value> results;
  for (int i = 0; i < num_arrays(x); ++i) {
    const Value stacked = stacked_operand(v, x.operand(i));
    const TensorType& type = x.results()[i];
    results.push_back(by_place(v, groups, type, [&](const Group& group, int64_t place) {
      const Value reduced = reduce_group(v, x, stacked, group, type.dtype);
      const Value root = root_of(v, x, i, group[place]);
      const Value own = v.b().compare(root, v.b().scalar(DType::s32, static_cast<double>(place)),
                                      ComparisonDirection::eq);
      return v.b().select(own, reduced, zeros(v, type));
    }));
  }
  return results;
}

// -- Ids

std::vector<Value> vectorize_replica_id(Vectorizer& v, Instruction&) {
  if (v.num_replicas() == 1) return {v.b().scalar(DType::u32, 0)};
  return {v.b().iota({DType::u32, {v.num_replicas()}}, 0)};
}

std::vector<Value> vectorize_partition_id(Vectorizer& v, Instruction&) {
  return {v.b().scalar(DType::u32, 0)};
}

}  // namespace systole::hlo::replicas
