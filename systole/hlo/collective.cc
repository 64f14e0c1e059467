#include "systole/hlo/collective.h"

#include <algorithm>
#include <set>

#include "systole/base/error.h"

namespace systole::hlo {

void check_groups(Opcode opcode, const CollectiveAttrs& attrs, Groups groups) {
  const Tensor& ids = attrs.replica_groups;
  if (ids.dtype() != DType::s64 || ids.rank() != 2) {
    throw invalid_argument("{}: replica_groups, got {}, expected s64 of rank 2", opcode,
                           ids.type());
  }
  std::set<int64_t> seen;
  for (const int64_t id : ids.data<int64_t>()) {
    const bool filler = id == -1 && groups != Groups::every_equal;
    if (!filler && (id < 0 || !seen.insert(id).second)) {
      throw invalid_argument("{}: replica_groups, got id {}, expected each one once, from 0 on",
                             opcode, id);
    }
  }
  const auto count = static_cast<int64_t>(seen.size());
  if (groups != Groups::some && count > 0 && *seen.rbegin() != count - 1) {
    throw invalid_argument("{}: replica_groups, got {} ids up to {}, expected all from 0 on",
                           opcode, count, *seen.rbegin());
  }
  if (attrs.use_global_device_ids && attrs.channel_handle.handle <= 0) {
    throw invalid_argument(
        "{}: channel_handle, got handle {} with use_global_device_ids, expected a positive one",
        opcode, attrs.channel_handle.handle);
  }
}

void check_pairs(Opcode opcode, std::span<const std::pair<int64_t, int64_t>> pairs) {
  Dims sources;
  Dims targets;
  for (const auto& [source, target] : pairs) {
    sources.push_back(source);
    targets.push_back(target);
  }
  for (const auto& [what, ids] : {std::pair{"sources", &sources}, std::pair{"targets", &targets}}) {
    const std::string name = fmt::format("source_target_pairs: {}", what);
    check_unique(opcode, name, *ids);
    check_at_least(opcode, name, *ids, 0);
  }
}

std::optional<int64_t> group_size(const CollectiveAttrs& attrs) {
  const bool spans_partitions = attrs.channel_handle.handle > 0 && !attrs.use_global_device_ids;
  if (spans_partitions || attrs.replica_groups.num_elements() == 0) return std::nullopt;
  return attrs.replica_groups.dim(1);
}

const TensorType& declared_result(const InferContext& context, int i) {
  if (static_cast<size_t>(i) < context.declared.size()) {
    return context.declared[static_cast<size_t>(i)];
  }
  throw invalid_argument(
      "{}: declared result types, got {}, expected one for each operand: the size of groups is "
      "not known",
      context.opcode, context.declared.size());
}

}  // namespace systole::hlo
