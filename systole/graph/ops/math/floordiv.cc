#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/constant_value.h"
#include "systole/graph/ops/math/elementwise.h"
#include "systole/graph/ops/math/integer_division.h"

namespace systole {
namespace {

std::vector<hlo::Value> lower_floordiv(LowerContext& c) {
  check_divisor(c, c.input(1));
  const auto [x, y] = broadcast_operands(c);
  const hlo::Value quotient = c.b.divide(x, y);
  if (is_floating(x.dtype())) return {c.b.unary(hlo::Opcode::floor, quotient)};
  if (!dtype_info(x.dtype()).is_signed) return {quotient};
  const hlo::Value down = rounds_up(c.b, c.b.binary(hlo::Opcode::remainder, x, y), y);
  return {c.b.select(down, c.b.subtract(quotient, c.b.splat_like(quotient, 1)), quotient)};
}

std::optional<PartialValue> floordiv_elements(const Output& output) {
  return elementwise_elements(output, [](int64_t a, int64_t b) -> KnownElement {
    if (b == 0) return std::nullopt;
    if (b == -1) return static_cast<int64_t>(-static_cast<uint64_t>(a));  // of the least, itself
    return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
  });
}

}  // namespace

Output floordiv(const Input& x, const Input& y, const NameOptions& options) {
  return add_op("FloorDiv", {x, y}, options.name);
}

namespace ops {
extern const OpDef op_floordiv{
    .name = "FloorDiv",
    .doc = "x / y rounded down.",
    .inputs = "x: T, y: T",
    .outputs = "z: T",
    .infer = infer_binary<DTypeClass::number>,
    .lower = lower_floordiv,
    .constant_rule = floordiv_elements,
    .batch = {.rule = batch_elementwise},
    .traits = {.blocks_gradient = true},
};
}  // namespace ops
}  // namespace systole
