#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/constant_value.h"
#include "systole/graph/ops/math/reduction.h"

namespace systole {
namespace {

// The product of the other elements: of those that are not 0 where this one alone is 0; 0 where
// another is 0.
std::vector<Output> reduce_prod_gradient(GradientContext& c) {
  const Output x = c.input(0);
  const ReduceOptions reduced{.axis = reduction_axes(c), .keepdims = c.attr<bool>("keep_dims")};
  const Output zero = equal(x, 0);
  const Output nonzero = where_v2(zero, 1, x);
  const Output product = c.grad() * reduce_prod(nonzero, reduced);
  const Output zeros = reduce_sum(cast(zero, DType::s32), reduced);
  const Output only = expand_reduced(c, where_v2(equal(zeros, 1), product, 0));
  const Output others = expand_reduced(c, where_v2(equal(zeros, 0), product, 0));
  return {where_v2(zero, only, others / nonzero), Output()};
}

}  // namespace

Output reduce_prod(const Input& input_tensor, const ReduceOptions& options) {
  return reduction_op("Prod", input_tensor, options);
}

namespace ops {
extern const OpDef op_reduce_prod{
    .name = "Prod",
    .doc = "The product over axes.",
    .inputs = "input: T, reduction_indices: Tidx",
    .outputs = "output: T",
    .attrs = "keep_dims: bool = false",
    .infer = infer_reduction<DTypeClass::number>,
    .lower = lower_reduction<hlo::Opcode::multiply>,
    .gradient = reduce_prod_gradient,
    .constant_rule =
        [](const Output& y) {
          return reduced_element(y, 1, [](int64_t a, int64_t b) { return a * b; });
        },
    .batch = {.rule = batch_axes_input},
};
}  // namespace ops
}  // namespace systole
