#include "systole/hlo/passes/replicas/partitions_as_replicas.h"

#include <algorithm>
#include <set>

#include "systole/hlo/analysis/queries.h"
#include "systole/hlo/ir/builder.h"
#include "systole/hlo/passes/replicas/groups.h"

namespace systole::hlo {
namespace {

using Pairs = std::vector<std::pair<int64_t, int64_t>>;

// One row a group, filled up with -1.
Tensor rows_of_groups(const std::vector<std::vector<int64_t>>& groups) {
  const std::set<std::vector<int64_t>> distinct(groups.begin(), groups.end());
  std::vector<std::vector<int64_t>> rows;
  size_t width = 0;
  for (const std::vector<int64_t>& group : groups) {
    if (group.empty() || std::ranges::find(rows, group) != rows.end()) continue;
    rows.push_back(group);
    width = std::max(width, group.size());
    if (rows.size() == distinct.size()) break;
  }
  Tensor ids(DType::s64, {static_cast<int64_t>(rows.size()), static_cast<int64_t>(width)});
  auto place = ids.data<int64_t>().begin();
  for (const std::vector<int64_t>& row : rows) {
    place = std::ranges::copy(row, place).out;
    place = std::fill_n(place, width - row.size(), -1);
  }
  return ids;
}

CollectiveAttrs* groups_in(Attrs& attrs) {
  if (auto* const own = std::get_if<CollectiveAttrs>(&attrs)) return own;
  if (auto* const gather = std::get_if<AllGatherAttrs>(&attrs)) return &gather->groups;
  if (auto* const scatter = std::get_if<ReduceScatterAttrs>(&attrs)) return &scatter->groups;
  if (auto* const exchange = std::get_if<AllToAllAttrs>(&attrs)) return &exchange->groups;
  if (auto* const rooted = std::get_if<RootedCollectiveAttrs>(&attrs)) return &rooted->groups;
  return nullptr;
}

class GridRewriter {
 public:
  explicit GridRewriter(const ProcessGrid& grid) : grid_(grid) {}

  void rewrite(Computation& computation) {
    for (Instruction* x : computation.instructions()) {
      for (const auto& region : x->regions()) rewrite(*region);
      if (x->is(Opcode::replica_id) || x->is(Opcode::partition_id)) {
        replace_id(*x);
      } else if (x->is(Opcode::collective_permute)) {
        replace_pairs(*x);
      } else if (Attrs attrs = x->attrs(); CollectiveAttrs* const groups = groups_in(attrs)) {
        *groups = {.replica_groups = rows_of_groups(replicas::groups_of(*x, grid_))};
        x->set_attrs(std::move(attrs));
      }
    }
  }

 private:
  void replace_id(Instruction& x) const {
    Builder b(x.parent(), &x);
    b.set_metadata(x.metadata());
    const bool replica = x.is(Opcode::replica_id);
    const Value number = b.op(Opcode::replica_id, {})->result();
    const Value partitions = b.scalar(number.dtype(), static_cast<double>(grid_.num_partitions));
    const Value id = b.binary(replica ? Opcode::divide : Opcode::remainder, number, partitions);
    replace_and_erase(x, {&id, 1});
  }

  void replace_pairs(Instruction& x) const {
    const auto& attrs = x.attrs<CollectivePermuteAttrs>();
    const bool across_partitions = grouping_of(attrs.channel_handle) == Grouping::cross_partition;
    const int64_t ids = across_partitions ? grid_.num_partitions : grid_.num_replicas;
    const int64_t copies = grid_.size() / ids;
    const auto number = [&](int64_t id, int64_t copy) {
      if (id >= ids) throw no_such_process(x, "source_target_pairs", id, std::max<int64_t>(ids, 2));
      return across_partitions ? copy * grid_.num_partitions + id
                               : id * grid_.num_partitions + copy;
    };
    Pairs pairs;
    for (int64_t copy = 0; copy < copies; ++copy) {
      for (const auto& [source, target] : attrs.source_target_pairs) {
        pairs.emplace_back(number(source, copy), number(target, copy));
      }
    }
    x.set_attrs(CollectivePermuteAttrs{.source_target_pairs = std::move(pairs)});
  }

  const ProcessGrid grid_;
};

}  // namespace

void partitions_as_replicas(Module& module, const ProcessGrid& grid) {
  if (grid.num_partitions == 1) return;
  for (const auto& function : module.functions()) GridRewriter(grid).rewrite(*function);
}

}  // namespace systole::hlo
