#include "systole/hlo/passes/replicas/groups.h"

#include <algorithm>

#include "systole/base/error.h"

namespace systole::hlo::replicas {

std::vector<std::vector<int64_t>> groups_of(const Instruction& instruction,
                                            const CollectiveAttrs& attrs, Grouping grouping,
                                            Groups groups, int num_replicas) {
  Rendezvous nobody_waits(num_replicas);
  std::vector<std::vector<int64_t>> result;
  for (int64_t replica = 0; replica < num_replicas; ++replica) {
    const Process process({.num_replicas = num_replicas}, replica, nobody_waits);
    result.push_back(group_around(instruction, process, attrs, grouping, groups));
  }
  return result;
}

std::vector<std::vector<int64_t>> groups_of(const Instruction& x, int num_replicas) {
  const Attrs& attrs = x.attrs();
  if (const auto* reduce = std::get_if<CollectiveAttrs>(&attrs)) {
    return groups_of(x, *reduce, grouping_of(*reduce), Groups::every, num_replicas);
  }
  if (const auto* gather = std::get_if<AllGatherAttrs>(&attrs)) {
    return groups_of(x, gather->groups, grouping_of(gather->groups), Groups::every_equal,
                     num_replicas);
  }
  if (const auto* scatter = std::get_if<ReduceScatterAttrs>(&attrs)) {
    return groups_of(x, scatter->groups, grouping_of(scatter->groups), Groups::every_equal,
                     num_replicas);
  }
  if (const auto* exchange = std::get_if<AllToAllAttrs>(&attrs)) {
    return groups_of(x, exchange->groups, grouping_of(exchange->groups.channel_handle),
                     Groups::every_equal, num_replicas);
  }
  if (const auto* rooted = std::get_if<RootedCollectiveAttrs>(&attrs)) {
    return groups_of(x, rooted->groups, grouping_of(rooted->groups.channel_handle), Groups::some,
                     num_replicas);
  }
  if (const auto* permute = std::get_if<CollectivePermuteAttrs>(&attrs)) {
    const CollectiveAttrs all{.replica_groups = Tensor(DType::s64, {0, 0}),
                              .channel_handle = permute->channel_handle};
    return groups_of(x, all, grouping_of(permute->channel_handle), Groups::every, num_replicas);
  }
  throw internal_error("{}: groups, got an op without any", x.opcode());
}

bool is_one_group(const std::vector<std::vector<int64_t>>& groups) {
  return std::ranges::all_of(groups,
                             [&](const auto& group) { return group.size() == groups.size(); });
}

}  // namespace systole::hlo::replicas
