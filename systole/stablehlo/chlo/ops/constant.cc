#include "systole/base/error.h"
#include "systole/stablehlo/chlo/chlo.h"

namespace systole::hlo::chlo::ops {
namespace {

std::vector<Value> constant(Builder& b, std::span<const Value> operands, const Attrs& attrs,
                            std::span<const TensorType>) {
  if (!operands.empty() || attrs.value.dtype() == DType::invalid) {
    throw invalid_argument(
        "chlo.constant: got {} operands and a value of {}, expected a value only", operands.size(),
        attrs.value.type());
  }
  return {b.constant(attrs.value)};
}

}  // namespace

extern const Expand constant_expansion = constant;

}  // namespace systole::hlo::chlo::ops
