#include "systole/graph/api/math_ops.h"
#include "systole/graph/lowering/integer_division.h"
#include "systole/graph/ops/math/elementwise.h"

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

}  // namespace

Output floormod(const Input& x, const Input& y, const NameOptions& options) {
  return add_op("FloorMod", {x, y}, options.name);
}

namespace ops {
extern const OpDef op_floormod;
const OpDef op_floormod{
    .name = "FloorMod",
    .doc = "What FloorDiv leaves, with y's sign.",
    .infer = infer_binary<DTypeClass::number>,
    .lower = lower_floormod,
    .gradient = floormod_gradient,
};
}  // namespace ops
}  // namespace systole
