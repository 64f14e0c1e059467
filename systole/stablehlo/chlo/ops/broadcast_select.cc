#include "systole/base/error.h"
#include "systole/stablehlo/chlo/broadcast.h"

namespace systole::hlo::chlo::ops {
namespace {

// NumPy's rule over all three operands; a scalar predicate stays a scalar, as select allows.
std::vector<Value> broadcast_select(Builder& b, std::span<const Value> operands, const Attrs&,
                                    std::span<const TensorType>) {
  constexpr std::string_view kOp = "chlo.broadcast_select";
  if (operands.size() != 3) {
    throw invalid_argument("{}: operands, got {}, expected 3", kOp, operands.size());
  }
  const Value predicate = operands[0];
  const Shape values = common_shape(kOp, operands[1].shape(), operands[2].shape());
  const Shape shape = common_shape(kOp, predicate.shape(), values);
  return {b.select(predicate.shape().rank() == 0 ? predicate : b.broadcast(predicate, shape),
                   b.broadcast(operands[1], shape), b.broadcast(operands[2], shape))};
}

}  // namespace

extern const Expand broadcast_select_expansion = broadcast_select;

}  // namespace systole::hlo::chlo::ops
