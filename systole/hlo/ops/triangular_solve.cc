#include "systole/base/error.h"
#include "systole/hlo/checks.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer(const InferContext& context) {
  const TensorType& a = context.operand(0);
  const TensorType& b = context.operand(1);
  const auto& attrs = context.get<TriangularSolveAttrs>();
  const int rank = a.shape.rank();
  if (!is_floating(a.dtype) && !is_complex(a.dtype)) {  // I1
    throw invalid_argument(
        "triangular_solve: element type, got {}, expected floating-point or complex", a.dtype);
  }
  check_dtype(context.opcode, "b", b.dtype, a.dtype);                                  // C1
  if (rank < 2 || b.shape.rank() != rank || a.shape[rank - 2] != a.shape[rank - 1]) {  // C2, C3
    throw invalid_argument(
        "triangular_solve: shapes, got {} and {}, expected square matrices and as many axes",
        a.shape, b.shape);
  }
  Shape expected = b.shape;  // C3
  for (int axis = 0; axis < rank - 2; ++axis) expected.set_dim(axis, a.shape[axis]);
  expected.set_dim(attrs.left_side ? rank - 2 : rank - 1, a.shape[rank - 1]);
  check_shape(context.opcode, "b", b.shape, expected);
  if (attrs.transpose_a == Transpose::transpose_invalid) {  // I6
    throw invalid_argument(
        "triangular_solve: transpose_a, got TRANSPOSE_INVALID, expected one such as NO_TRANSPOSE");
  }
  return {b};  // C4
}

}  // namespace

extern const OpSemantics triangular_solve_semantics;
const OpSemantics triangular_solve_semantics{.infer = infer};

}  // namespace systole::hlo::ops
