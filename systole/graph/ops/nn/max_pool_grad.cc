#include "systole/graph/api/array_ops.h"
#include "systole/graph/ops/nn/pooling.h"

namespace systole {
namespace {

enum : int { kMaxPoolGradInput, kMaxPoolGradResult, kMaxPoolGradGradient };

std::vector<hlo::Value> lower_max_pool_grad(LowerContext& c) {
  const hlo::Value x = c.input(kMaxPoolGradInput);
  const ImageWindow window = pool_window(c.node.attrs(), x.shape());
  const auto fill = [&](hlo::Instruction& i) {
    hlo::Computation& select = i.add_region();
    hlo::Builder b(select);
    const hlo::Value left = select.add_parameter({x.dtype(), {}});
    const hlo::Value right = select.add_parameter({x.dtype(), {}});
    select.set_results({b.compare(left, right, hlo::ComparisonDirection::ge)});
    hlo::fill_reducer(i.add_region(), hlo::Opcode::add, x.dtype());
  };
  return {c.b.op_with_regions(hlo::Opcode::select_and_scatter,
                              {x, c.input(kMaxPoolGradGradient), c.b.scalar(x.dtype(), 0)},
                              pool_attrs(window), fill)
              ->result()};
}

// Linear in the gradient; by the input its derivative is 0 wherever it has one.
std::vector<Output> max_pool_grad_gradient(GradientContext& c) {
  return {zeros_like(c.input(kMaxPoolGradInput)),
          {},
          max_pool_grad_grad(c.input(kMaxPoolGradInput), c.input(kMaxPoolGradResult), c.grad(),
                             c.node.attrs())};
}

}  // namespace

Output max_pool_grad(Output input, Output result, Output gradient, const AttrMap& attrs) {
  return {Graph::current().add_node("MaxPoolGrad", {input, result, gradient}, attrs), 0};
}

namespace ops {
extern const OpDef op_max_pool_grad;
const OpDef op_max_pool_grad{
    .name = "MaxPoolGrad",
    .doc = "The gradient of MaxPool: each window's gradient at the first of its largest elements.",
    .inputs = "orig_input: T, orig_output: T, grad: T",
    .outputs = "output: T",
    .attrs = "ksize: list(int), strides: list(int), padding: string, data_format: string = 'NHWC'",
    .infer = [](const InferContext& c) { return infer_max_pool_gradient(c, kMaxPoolGradInput); },
    .lower = lower_max_pool_grad,
    .gradient = max_pool_grad_gradient,
};
}  // namespace ops
}  // namespace systole
