#include "systole/base/error.h"
#include "systole/hlo/op_semantics.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer(const InferContext& context) {
  const TensorType& x = context.operand(0);
  if (!is_floating(x.dtype) && !is_complex(x.dtype)) {  // I1
    throw invalid_argument("imag: element type, got {}, expected floating-point or complex",
                           x.dtype);
  }
  return {{real_dtype(x.dtype), x.shape}};  // C1, C2
}

}  // namespace

extern const OpSemantics imag_semantics;
const OpSemantics imag_semantics{.infer = infer};

}  // namespace systole::hlo::ops
