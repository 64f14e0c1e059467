// What softmax and the cross entropies share: arithmetic along the last axis.
#pragma once

#include "systole/graph/api/nn_ops.h"
#include "systole/graph/core/op_def.h"

namespace systole {

// The parts of a softmax over rows, all of the logits' shape: x - max(x), exp of that, and the
// row's sum of exps.
struct SoftmaxParts {
  hlo::Value shifted;
  hlo::Value exponentials;
  hlo::Value sums;
};
SoftmaxParts softmax_parts(hlo::Builder& b, hlo::Value logits);

// x [.., n] reduced along its last axis: [..].
hlo::Value reduce_rows(hlo::Builder& b, hlo::Value x, hlo::Opcode reducer);
// One value a row ([..]) at every element of the row.
hlo::Value spread_rows(hlo::Builder& b, hlo::Value rows, const Shape& shape);

// Errors: INVALID_ARGUMENT unless floating and of rank >= 1.
void check_logits(const TensorType& logits);
// (logits) -> the same type. Errors: those of check_logits.
std::vector<TensorType> infer_softmax(const InferContext& c);
// The shape without its last axis.
Shape row_shape(const Shape& shape);

// x with `axis` moved to the end, the others in order; x itself when it is there, and when it is a
// scalar. Errors: INVALID_ARGUMENT for an axis out of range.
Output axis_to_end(Output x, int64_t axis);

// A node of `op`, which maps rows to rows, along any axis.
Output softmax_op(std::string_view op, const Input& logits, const SoftmaxOptions& options);

// The gradient by the logits of a cross entropy of rows: that of its loss, and that of its second
// output, softmax(logits) - labels, where that is differentiated too.
Output cross_entropy_gradient(GradientContext& c);

}  // namespace systole
