#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"
#include "systole/graph/ops/math/integer_division.h"

namespace systole {
namespace {

std::vector<hlo::Value> lower_pow(LowerContext& c) {
  const hlo::Value y = c.input(1);
  if (is_integer(y.dtype()) && dtype_info(y.dtype()).is_signed) {
    check_no_element(c, y, hlo::ComparisonDirection::lt,
                     "Integers to negative integer powers are not allowed");
  }
  return lower_binary(c, hlo::Opcode::power);
}

// The exponent y - 1 is replaced where y is 0, so that 0^-1 does not meet the factor 0; log(x)
// where x <= 0, where the derivative by y is not real.
std::vector<Output> pow_gradient(GradientContext& c) {
  const Output x = c.input(0);
  const Output y = c.input(1);
  const Output lowered = where_v2(equal(y, 0), 1, y - 1);
  const Output positive = x > 0;
  const Output log_x = where_v2(positive, log(where_v2(positive, x, 1)), 0);
  return broadcast_gradients(c, c.grad() * y * pow(x, lowered), c.grad() * c.output() * log_x);
}

}  // namespace

Output pow(const Input& x, const Input& y, const NameOptions& options) {
  return add_op("Pow", {x, y}, options.name);
}

namespace ops {
extern const OpDef op_pow{
    .name = "Pow",
    .doc = "x to the power of y.",
    .inputs = "x: T, y: T",
    .outputs = "z: T",
    .infer = infer_binary<DTypeClass::number>,
    .lower = lower_pow,
    .gradient = pow_gradient,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
