#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/constant_value.h"
#include "systole/graph/ops/math/elementwise.h"
#include "systole/graph/ops/math/integer_division.h"

namespace systole {
namespace {

std::vector<hlo::Value> lower_floormod(LowerContext& c) {
  check_divisor(c, c.input(1));
  const auto [x, y] = broadcast_operands(c);
  const hlo::Value remainder = c.b.binary(hlo::Opcode::remainder, x, y);
  if (!dtype_info(x.dtype()).is_signed) return {remainder};
  return {c.b.select(rounds_up(c.b, remainder, y), c.b.add(remainder, y), remainder)};
}

std::vector<Output> floormod_gradient(GradientContext& c) {
  return broadcast_gradients(c, c.grad(), -c.grad() * floordiv(c.input(0), c.input(1)));
}

std::optional<PartialValue> floormod_elements(const Output& output) {
  return elementwise_elements(output, [](int64_t a, int64_t b) -> KnownElement {
    if (b == 0) return std::nullopt;
    if (b == -1) return 0;
    const int64_t remainder = a % b;
    return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
  });
}

}  // namespace

Output floormod(const Input& x, const Input& y, const NameOptions& options) {
  return add_op("FloorMod", {x, y}, options.name);
}

namespace ops {
extern const OpDef op_floormod{
    .name = "FloorMod",
    .doc = "What FloorDiv leaves, with y's sign.",
    .inputs = "x: T, y: T",
    .outputs = "z: T",
    .infer = infer_binary<DTypeClass::number>,
    .lower = lower_floormod,
    .gradient = floormod_gradient,
    .constant_rule = floormod_elements,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
