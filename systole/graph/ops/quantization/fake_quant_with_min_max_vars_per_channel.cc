#include "systole/graph/ops/quantization/fake_quant.h"

namespace systole {
namespace {

std::vector<Output> fake_quant_with_min_max_vars_per_channel_rule(GradientContext& c) {
  const auto gradients = quantization::fake_quant_with_min_max_vars_per_channel_gradient(
      c.grad(), c.input(0), c.input(1), c.input(2), fake_quant_options(c));
  return {gradients.inputs, gradients.min, gradients.max};
}

}  // namespace

namespace quantization {

Output fake_quant_with_min_max_vars_per_channel(const Input& inputs, const Input& min,
                                                const Input& max, const FakeQuantOptions& options) {
  return add_fake_quant("FakeQuantWithMinMaxVarsPerChannel", {inputs, min, max}, options.name,
                        fake_quant_attrs(options))
      ->output();
}

}  // namespace quantization

namespace ops {
extern const OpDef op_fake_quant_with_min_max_vars_per_channel{
    .name = "FakeQuantWithMinMaxVarsPerChannel",
    .doc = "Rounds to the values of a range of integers, one range for each channel.",
    .inputs = "inputs: float32, min: float32, max: float32",
    .outputs = "outputs: float32",
    .attrs = "num_bits: int = 8, narrow_range: bool = false",
    .infer = infer_fake_quant<FakeQuantKind::per_channel>,
    .lower = lower_fake_quant<FakeQuantKind::per_channel>,
    .gradient = fake_quant_with_min_max_vars_per_channel_rule,
};
}  // namespace ops
}  // namespace systole
