#include "systole/base/error.h"
#include "systole/hlo/op_semantics.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer(const InferContext& context) {
  const TensorType& type = context.declared_type();
  if (!type.is_static()) {
    throw invalid_argument("parameter: type, got {}, expected a static shape", type);
  }
  return {type};
}

}  // namespace

extern const OpSemantics parameter_semantics;
const OpSemantics parameter_semantics{.infer = infer};

}  // namespace systole::hlo::ops
