#include "systole/hlo/semantics/batch_norm.h"

#include <cmath>

#include "systole/base/error.h"

namespace systole::hlo {

TensorType check_batch_norm(const InferContext& context,
                            std::initializer_list<std::string_view> names) {
  const TensorType& operand = context.operand(0);
  const int64_t axis = context.get<BatchNormAttrs>().feature_index;
  if (!is_floating(operand.dtype)) {
    throw invalid_argument("{}: element type of operand, got {}, expected floating-point",
                           context.opcode, operand.dtype);
  }
  check_axes(context.opcode, "feature_index", {&axis, 1}, operand.shape.rank());
  TensorType features{operand.dtype, {operand.shape[static_cast<int>(axis)]}};
  int i = 1;
  for (const std::string_view name : names) {
    if (context.operand(i) != features) {
      throw invalid_argument("{}: type of {}, got {}, expected {}", context.opcode, name,
                             context.operand(i), features);
    }
    ++i;
  }
  return features;
}

Tensor normalized(const FeatureWalk& x, const Tensor& scale, const Tensor& offset,
                  const Tensor& mean, const Tensor& variance, float epsilon) {
  const Tensor wide_scale = scale.cast(DType::f64);
  const Tensor wide_offset = offset.cast(DType::f64);
  const Tensor result = x.map([&](double element, size_t f, size_t) {
    const double deviation = std::sqrt(variance.data<double>()[f] + epsilon);
    const double centered = element - mean.data<double>()[f];
    return wide_scale.data<double>()[f] * (centered / deviation) + wide_offset.data<double>()[f];
  });
  return result.cast(scale.dtype());
}

}  // namespace systole::hlo
