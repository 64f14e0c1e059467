#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"
#include "systole/graph/ops/math/integer_division.h"

namespace systole {
namespace {

std::vector<hlo::Value> lower_truncatemod(LowerContext& c) {
  check_divisor(c, c.input(1));
  return lower_binary(c, hlo::Opcode::remainder);
}

}  // namespace

Output truncatemod(const Input& x, const Input& y, const NameOptions& options) {
  return add_op("TruncateMod", {x, y}, options.name);
}

namespace ops {
extern const OpDef op_truncatemod{
    .name = "TruncateMod",
    .doc = "What x / y rounded towards zero leaves, with x's sign.",
    .inputs = "x: T, y: T",
    .outputs = "z: T",
    .infer = infer_binary<DTypeClass::number>,
    .lower = lower_truncatemod,
    .batch = {.rule = batch_elementwise},
    .traits = {.blocks_gradient = true},
};
}  // namespace ops
}  // namespace systole
