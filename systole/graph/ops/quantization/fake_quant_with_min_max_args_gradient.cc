#include "systole/graph/ops/quantization/fake_quant.h"

namespace systole {
namespace quantization {

Output fake_quant_with_min_max_args_gradient(const Input& gradients, const Input& inputs,
                                             const FakeQuantArgsOptions& options) {
  return add_fake_quant("FakeQuantWithMinMaxArgsGradient", {gradients, inputs}, options.name,
                        fake_quant_attrs(options))
      ->output();
}

}  // namespace quantization

namespace ops {
extern const OpDef op_fake_quant_with_min_max_args_gradient{
    .name = "FakeQuantWithMinMaxArgsGradient",
    .doc = "The gradient of FakeQuantWithMinMaxArgs: passes inside of the range.",
    .inputs = "gradients: float32, inputs: float32",
    .outputs = "backprops: float32",
    .attrs = "min: float = -6.0, max: float = 6.0, num_bits: int = 8, narrow_range: bool = false",
    .infer = infer_fake_quant_gradient<FakeQuantKind::args>,
    .lower = lower_fake_quant_gradient<FakeQuantKind::args>,
};
}  // namespace ops
}  // namespace systole
