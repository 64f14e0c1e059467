#include "systole/graph/ops/quantization/fake_quant.h"

namespace systole {
namespace quantization {

FakeQuantGradients fake_quant_with_min_max_vars_gradient(const Input& gradients,
                                                         const Input& inputs, const Input& min,
                                                         const Input& max,
                                                         const FakeQuantOptions& options) {
  Node* const node =
      add_fake_quant("FakeQuantWithMinMaxVarsGradient", {gradients, inputs, min, max}, options.name,
                     fake_quant_attrs(options));
  return {node->output(0), node->output(1), node->output(2)};
}

}  // namespace quantization

namespace ops {
extern const OpDef op_fake_quant_with_min_max_vars_gradient{
    .name = "FakeQuantWithMinMaxVarsGradient",
    .doc = "The gradients of FakeQuantWithMinMaxVars for inputs, min and max.",
    .inputs = "gradients: float32, inputs: float32, min: float32, max: float32",
    .outputs = "backprops_wrt_input: float32, backprop_wrt_min: float32, backprop_wrt_max: float32",
    .attrs = "num_bits: int = 8, narrow_range: bool = false",
    .infer = infer_fake_quant_gradient<FakeQuantKind::vars>,
    .lower = lower_fake_quant_gradient<FakeQuantKind::vars>,
};
}  // namespace ops
}  // namespace systole
