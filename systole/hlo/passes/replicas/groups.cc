#include "systole/hlo/passes/replicas/groups.h"

#include <algorithm>

#include "systole/base/error.h"

namespace systole::hlo::replicas {

namespace {

std::vector<std::vector<int64_t>> groups_of(const Instruction& x, const CollectiveAttrs& attrs,
                                            Grouping grouping, Groups groups,
                                            const ProcessGrid& grid) {
  Rendezvous nobody_waits(grid.size());
  std::vector<std::vector<int64_t>> result;
  for (int64_t number = 0; number < grid.size(); ++number) {
    const Process process(grid, number, nobody_waits);
    result.push_back(group_around(x, process, attrs, grouping, groups));
  }
  return result;
}

}  // namespace

std::vector<std::vector<int64_t>> groups_of(const Instruction& x, const ProcessGrid& grid) {
  const Attrs& attrs = x.attrs();
  if (const auto* reduce = std::get_if<CollectiveAttrs>(&attrs)) {
    return groups_of(x, *reduce, grouping_of(*reduce), Groups::every, grid);
  }
  if (const auto* gather = std::get_if<AllGatherAttrs>(&attrs)) {
    return groups_of(x, gather->groups, grouping_of(gather->groups), Groups::every_equal, grid);
  }
  if (const auto* scatter = std::get_if<ReduceScatterAttrs>(&attrs)) {
    return groups_of(x, scatter->groups, grouping_of(scatter->groups), Groups::every_equal, grid);
  }
  if (const auto* exchange = std::get_if<AllToAllAttrs>(&attrs)) {
    return groups_of(x, exchange->groups, grouping_of(exchange->groups.channel_handle),
                     Groups::every_equal, grid);
  }
  if (const auto* rooted = std::get_if<RootedCollectiveAttrs>(&attrs)) {
    return groups_of(x, rooted->groups, grouping_of(rooted->groups.channel_handle), Groups::some,
                     grid);
  }
  if (const auto* permute = std::get_if<CollectivePermuteAttrs>(&attrs)) {
    const CollectiveAttrs all{.replica_groups = Tensor(DType::s64, {0, 0}),
                              .channel_handle = permute->channel_handle};
    return groups_of(x, all, grouping_of(permute->channel_handle), Groups::every, grid);
  }
  throw internal_error("{}: groups, got an op without any", x.opcode());
}

std::vector<std::vector<int64_t>> groups_of(const Instruction& x, int num_replicas) {
  return groups_of(x, ProcessGrid{.num_replicas = num_replicas});
}

bool is_one_group(const std::vector<std::vector<int64_t>>& groups) {
  return std::ranges::all_of(groups,
                             [&](const auto& group) { return group.size() == groups.size(); });
}

}  // namespace systole::hlo::replicas
