#include "systole/base/error.h"
#include "systole/stablehlo/chlo/chlo.h"

namespace systole::hlo::chlo::ops {
namespace {

// The scalar `value` broadcast to the operand's shape, in the value's dtype.
std::vector<Value> constant_like(Builder& b, std::span<const Value> operands, const Attrs& attrs,
                                 std::span<const TensorType>) {
  if (operands.size() != 1) {
    throw invalid_argument("chlo.constant_like: operands, got {}, expected 1", operands.size());
  }
  if (attrs.value.dtype() == DType::invalid || attrs.value.shape().rank() != 0) {
    throw invalid_argument("chlo.constant_like: value, got {}, expected a scalar",
                           attrs.value.type());
  }
  return {b.broadcast(b.constant(attrs.value), operands[0].shape())};
}

}  // namespace

extern const Expand constant_like_expansion = constant_like;

}  // namespace systole::hlo::chlo::ops
