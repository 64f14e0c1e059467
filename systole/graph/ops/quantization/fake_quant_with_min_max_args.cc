#include "systole/graph/ops/quantization/fake_quant.h"

namespace systole {
namespace {

std::vector<Output> fake_quant_with_min_max_args_rule(GradientContext& c) {
  return {quantization::fake_quant_with_min_max_args_gradient(
      c.grad(), c.input(0),
      {.min = c.attr<double>("min"),
       .max = c.attr<double>("max"),
       .num_bits = c.attr<int64_t>("num_bits"),
       .narrow_range = c.attr<bool>("narrow_range")})};
}

}  // namespace

namespace quantization {

Output fake_quant_with_min_max_args(const Input& inputs, const FakeQuantArgsOptions& options) {
  return add_fake_quant("FakeQuantWithMinMaxArgs", {inputs}, options.name,
                        fake_quant_attrs(options))
      ->output();
}

}  // namespace quantization

namespace ops {
extern const OpDef op_fake_quant_with_min_max_args{
    .name = "FakeQuantWithMinMaxArgs",
    .doc = "Rounds to the values of a range of integers; the range is fixed.",
    .inputs = "inputs: float32",
    .outputs = "outputs: float32",
    .attrs = "min: float = -6.0, max: float = 6.0, num_bits: int = 8, narrow_range: bool = false",
    .infer = infer_fake_quant<FakeQuantKind::args>,
    .lower = lower_fake_quant<FakeQuantKind::args>,
    .gradient = fake_quant_with_min_max_args_rule,
};
}  // namespace ops
}  // namespace systole
