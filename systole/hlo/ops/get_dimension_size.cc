#include "systole/base/error.h"
#include "systole/hlo/checks.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer(const InferContext& context) {
  const int64_t dimension = context.get<GetDimensionSizeAttrs>().dimension;
  check_axes(context.opcode, "dimension", {&dimension, 1}, context.operand(0).shape.rank());  // C1
  return {{DType::s32, {}}};
}

}  // namespace

extern const OpSemantics get_dimension_size_semantics;
const OpSemantics get_dimension_size_semantics{.infer = infer};

}  // namespace systole::hlo::ops
