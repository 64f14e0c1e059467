#include "systole/graph/api/math_ops.h"
#include "systole/graph/ops/math/elementwise.h"
#include "systole/graph/ops/math/integer_division.h"

namespace systole {
namespace {

std::vector<TensorType> infer_truncatediv(const InferContext& c) {
  std::vector<TensorType> types = infer_binary(c, DTypeClass::number);
  if (is_integer(types[0].dtype)) return types;
  throw invalid_argument("dtype, got {}, expected an integer one", types[0].dtype);
}

std::vector<hlo::Value> lower_truncatediv(LowerContext& c) {
  check_divisor(c, c.input(1));
  return lower_binary(c, hlo::Opcode::divide);
}

}  // namespace

Output truncatediv(const Input& x, const Input& y, const NameOptions& options) {
  return add_op("TruncateDiv", {x, y}, options.name);
}

namespace ops {
extern const OpDef op_truncatediv{
    .name = "TruncateDiv",
    .doc = "x / y of integers rounded towards zero.",
    .inputs = "x: T, y: T",
    .outputs = "z: T",
    .infer = infer_truncatediv,
    .lower = lower_truncatediv,
    .traits = {.blocks_gradient = true},
};
}  // namespace ops
}  // namespace systole
