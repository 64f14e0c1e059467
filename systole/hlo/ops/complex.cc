#include "systole/base/error.h"
#include "systole/hlo/op_semantics.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer(const InferContext& context) {
  const TensorType& lhs = context.operand(0);
  const TensorType& rhs = context.operand(1);
  if (lhs != rhs) {  // C1
    throw invalid_argument("complex: operand types, got {} and {}, expected equal", lhs, rhs);
  }
  if (lhs.dtype != DType::f32 && lhs.dtype != DType::f64) {  // I1, I2
    throw invalid_argument("complex: element type, got {}, expected f32 or f64", lhs.dtype);
  }
  return {{lhs.dtype == DType::f32 ? DType::c64 : DType::c128, lhs.shape}};  // C2, C3
}

}  // namespace

extern const OpSemantics complex_semantics;
const OpSemantics complex_semantics{.infer = infer};

}  // namespace systole::hlo::ops
