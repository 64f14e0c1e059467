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
extern const OpDef op_reduce_sum;
const OpDef op_reduce_sum{
    .name = "Sum",
    .doc = "The sum over axes.",
    .infer = infer_reduction<DTypeClass::number>,
    .lower = lower_reduction<hlo::Opcode::add>,
    .gradient = reduce_sum_gradient,
};
}  // namespace ops
}  // namespace systole
