#include "systole/base/error.h"
#include "systole/hlo/checks.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer(const InferContext& context) {
  const TensorType& a = context.operand(0);
  const int rank = a.shape.rank();
  if (!is_floating(a.dtype) && !is_complex(a.dtype)) {  // I1
    throw invalid_argument("cholesky: element type, got {}, expected floating-point or complex",
                           a.dtype);
  }
  if (rank < 2 || a.shape[rank - 2] != a.shape[rank - 1]) {  // C2, C3
    throw invalid_argument("cholesky: shape of a, got {}, expected square matrices", a.shape);
  }
  return {a};  // C1
}

}  // namespace

extern const OpSemantics cholesky_semantics;
const OpSemantics cholesky_semantics{.infer = infer};

}  // namespace systole::hlo::ops
