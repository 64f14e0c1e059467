#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/constant_value.h"
#include "systole/graph/ops/math/reduction.h"

namespace systole {
namespace {

std::vector<Output> reduce_sum_gradient(GradientContext& c) {
  return {expand_reduced(c, c.grad()), Output()};
}

}  // namespace

Output reduce_sum(const Input& input_tensor, const ReduceOptions& options) {
  return reduction_op("Sum", input_tensor, options);
}

namespace ops {
extern const OpDef op_reduce_sum{
    .name = "Sum",
    .doc = "The sum over axes.",
    .inputs = "input: T, reduction_indices: Tidx",
    .outputs = "output: T",
    .attrs = "keep_dims: bool = false",
    .infer = infer_reduction<DTypeClass::number>,
    .lower = lower_reduction<hlo::Opcode::add>,
    .gradient = reduce_sum_gradient,
    .constant_rule =
        [](const Output& y) {
          return reduced_element(y, 0, [](int64_t a, int64_t b) { return a + b; });
        },
    .batch = {.rule = batch_axes_input},
};
}  // namespace ops
}  // namespace systole
