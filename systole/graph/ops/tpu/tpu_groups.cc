#include "systole/graph/ops/tpu/tpu_groups.h"

#include <algorithm>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/composition.h"

namespace systole {

Output group_constant(std::string_view op, const tpu::GroupAssignment& groups,
                      SourceLocation where) {
  const size_t size = groups.empty() ? 0 : groups[0].size();
  std::vector<int32_t> ids;
  for (const std::vector<int64_t>& group : groups) {
    if (group.size() != size) {
      throw at_line(invalid_argument("{}: group_assignment, got groups of {} and {} replicas, "
                                     "expected all of one size",
                                     op, size, group.size()),
                    where);
    }
    for (const int64_t id : group) ids.push_back(static_cast<int32_t>(id));
  }
  std::vector<int32_t> sorted = ids;
  std::ranges::sort(sorted);
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] == static_cast<int32_t>(i)) continue;
    throw at_line(invalid_argument("{}: group_assignment, got {} where {} should be, expected each "
                                   "of the replicas 0 to {} once",
                                   op, sorted[i], i, sorted.size() - 1),
                  where);
  }
  const Shape shape{static_cast<int64_t>(groups.size()), static_cast<int64_t>(size)};
  return constant(Input(Tensor::of<int32_t>(shape, ids)), {.name = "group_assignment"});
}

void check_groups_input(const InferContext& c, int i) {
  const TensorType& type = c.input(i);
  if (type.dtype == DType::s32 && type.shape.rank() == 2) return;
  throw invalid_argument("group_assignment, got {}, expected s32 of rank 2", type);
}

hlo::CollectiveAttrs collective_attrs(const LowerContext& c, int i) {
  const Tensor groups = c.constant_input(i);
  hlo::CollectiveAttrs attrs;
  attrs.replica_groups =
      groups.num_elements() == 0 ? Tensor(DType::s64, {0, 0}) : groups.cast(DType::s64);
  return attrs;
}

}  // namespace systole
