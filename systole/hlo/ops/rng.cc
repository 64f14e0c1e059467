#include "systole/base/error.h"
#include "systole/hlo/checks.h"

namespace systole::hlo::ops {
namespace {

// C3: the value of `shape` is known when the program runs, the result's type before.
std::vector<TensorType> infer(const InferContext& context) {
  const TensorType& a = context.operand(0);
  const TensorType& b = context.operand(1);
  const TensorType& shape = context.operand(2);
  const TensorType& result = context.declared_type();
  check_scalar(context.opcode, "a", a);                                      // I1
  check_scalar(context.opcode, "b", b);                                      // I2
  check_dtype(context.opcode, "b", b.dtype, a.dtype);                        // C1
  check_dtype(context.opcode, "result", result.dtype, a.dtype);              // C1
  check_integer(context.opcode, "shape", shape);                             // I3
  check_shape(context.opcode, "shape", shape.shape, {result.shape.rank()});  // C3
  const bool is_normal = context.get<RngAttrs>().rng_distribution == RngDistribution::normal;
  if (is_complex(a.dtype) || (is_normal && !is_floating(a.dtype))) {  // C2
    throw invalid_argument("rng: element type, got {}, expected {}", a.dtype,
                           is_normal ? "floating-point" : "pred, integer or floating-point");
  }
  return {result};
}

}  // namespace

extern const OpSemantics rng_semantics;
const OpSemantics rng_semantics{.infer = infer};

}  // namespace systole::hlo::ops
