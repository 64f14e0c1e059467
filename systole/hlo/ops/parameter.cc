#include "systole/base/error.h"
#include "systole/hlo/semantics/op_semantics.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_parameter(const InferContext& context) {
  const TensorType& type = context.declared_type();
  if (!type.is_static()) {
    throw invalid_argument("parameter: type, got {}, expected a static shape", type);
  }
  return {type};
}

}  // namespace

extern const OpSemantics parameter_semantics{
    .infer = infer_parameter,
    .quantized = OpQuantization{.form = QuantizedForm::own, .per_axis = true}};

}  // namespace systole::hlo::ops
