#include "systole/graph/ops/quantization/fake_quant.h"

namespace systole {
namespace {

std::vector<Output> fake_quant_with_min_max_vars_rule(GradientContext& c) {
  const auto gradients = quantization::fake_quant_with_min_max_vars_gradient(
      c.grad(), c.input(0), c.input(1), c.input(2), fake_quant_options(c));
  return {gradients.inputs, gradients.min, gradients.max};
}

}  // namespace

namespace quantization {

Output fake_quant_with_min_max_vars(const Input& inputs, const Input& min, const Input& max,
                                    const FakeQuantOptions& options) {
  return add_fake_quant("FakeQuantWithMinMaxVars", {inputs, min, max}, options.name,
                        fake_quant_attrs(options))
      ->output();
}

}  // namespace quantization

namespace ops {
extern const OpDef op_fake_quant_with_min_max_vars{
    .name = "FakeQuantWithMinMaxVars",
    .doc = "Rounds to the values of a range of integers; the range is an input.",
    .inputs = "inputs: float32, min: float32, max: float32",
    .outputs = "outputs: float32",
    .attrs = "num_bits: int = 8, narrow_range: bool = false",
    .infer = infer_fake_quant<FakeQuantKind::vars>,
    .lower = lower_fake_quant<FakeQuantKind::vars>,
    .gradient = fake_quant_with_min_max_vars_rule,
};
}  // namespace ops
}  // namespace systole
