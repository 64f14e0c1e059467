// Norms and clipping of math_ops.h. (tensorflow/python/ops/clip_ops.py)
#include <limits>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/gradients/indexed_slices.h"

namespace systole {
namespace {

SourceLocation where_of(const std::vector<Output>& t_list) {
  for (const Output& t : t_list) {
    if (t.valid()) return t.node()->where();
  }
  return {};
}

}  // namespace

Output global_norm(const std::vector<Output>& t_list, const NameOptions& options) {
  const CompositionScope scope(where_of(t_list), options.name, "global_norm");
  std::vector<Output> halves;
  for (const Output& t : t_list) {
    const auto slices = indexed_slices(t);
    if (t.valid()) halves.push_back(l2_loss(slices ? slices->values : t));
  }
  if (halves.empty()) {
    throw invalid_argument("global_norm: tensors, got none, expected at least one");
  }
  return sqrt(2 * add_n(halves), scope.result());
}

std::pair<std::vector<Output>, Output> clip_by_global_norm(const std::vector<Output>& t_list,
                                                           const Input& clip_norm,
                                                           const ClipByGlobalNormOptions& options) {
  const CompositionScope scope(clip_norm, options.name, "clip_by_global_norm");
  const Output norm = options.use_norm.valid() ? options.use_norm : global_norm(t_list);
  const Output limit = resolve("clip_by_global_norm", clip_norm, norm.dtype());
  const Output scale = limit * minimum(1 / norm, 1 / limit);
  // An infinite norm gives a scale of 0, which would hide it.
  const Output factor = where_v2(is_finite(norm), scale, std::numeric_limits<double>::quiet_NaN());
  std::vector<Output> clipped;
  for (const Output& t : t_list) {
    const auto scaled = [&](const Output& values) { return values * cast(factor, t.dtype()); };
    clipped.push_back(t.valid() ? map_values(t, scaled) : t);
  }
  return {std::move(clipped), norm};
}

// Divides by a norm that is never 0: the root is taken of 1 in place of 0, whose derivative is
// infinite.
Output clip_by_norm(const Input& t, const Input& clip_norm, const ClipByNormOptions& options) {
  const CompositionScope scope(t, options.name, "clip_by_norm");
  const Output value = resolve_as("clip_by_norm", t, DTypeClass::floating);
  if (const auto slices = indexed_slices(value)) {
    const Output clipped = clip_by_norm(slices->values, clip_norm, {.axes = options.axes});
    return with_slices(value, {clipped, slices->indices});
  }
  const Output limit = resolve("clip_by_norm", clip_norm, value.dtype());
  const Output sum = reduce_sum(square(value), {.axis = options.axes, .keepdims = true});
  const Output positive = sum > 0;
  const Output norm = where_v2(positive, sqrt(where_v2(positive, sum, 1)), sum);
  return truediv(value * limit, maximum(norm, limit), scope.result());
}

Output clip_by_average_norm(const Input& t, const Input& clip_norm, const NameOptions& options) {
  const CompositionScope scope(t, options.name, "clip_by_average_norm");
  const Output value = resolve_as("clip_by_average_norm", t, DTypeClass::floating);
  const Output limit = resolve("clip_by_average_norm", clip_norm, value.dtype());
  const Output count = cast(reduce_prod(shape(value, {.out_type = DType::s64})), value.dtype());
  const Output inverse = rsqrt(reduce_sum(square(value)));
  return multiply(value * limit, minimum(inverse * count, 1 / limit), scope.result());
}

}  // namespace systole
