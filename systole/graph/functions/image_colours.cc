// Functions of image_ops.h about hue and saturation, made of other ops.
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/image_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/random_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/op_error.h"

namespace systole::image {
namespace {

// The three channels of [.., 3]. Errors: INVALID_ARGUMENT for others, and for integers.
std::vector<Output> channels_of(std::string_view op, const Input& images, const Output& x) {
  with_op(op, images.where(), [&] {
    const int rank = x.shape().rank();
    if (is_floating(x.dtype()) && rank > 0 && Shape{x.shape()[rank - 1]}.compatible_with({3})) {
      return;
    }
    throw invalid_argument("images, got {}, expected 3 channels of floats", x.type());
  });
  return unstack(x, {.num = 3, .axis = -1});
}

Output clipped(const Output& x) { return minimum(maximum(x, 0), 1); }

// The image as fractions, changed in hue and saturation, in its own dtype again.
template <class ChangeFn>
Output changed(std::string_view op, const Input& image, const ChangeFn& change) {
  const Output x = resolve(op, image);
  const DType wide = is_floating(x.dtype()) ? x.dtype() : DType::f32;
  const std::vector<Output> hsv =
      unstack(rgb_to_hsv(convert_image_dtype(x, wide)), {.num = 3, .axis = -1});
  const std::vector<Output> other = change(hsv, wide);
  return convert_image_dtype(hsv_to_rgb(stack(other, {.axis = -1})), x.dtype(), true);
}

}  // namespace

Output rgb_to_hsv(const Input& images, const NameOptions& options) {
  constexpr std::string_view kOp = "rgb_to_hsv";
  const CompositionScope scope(images, options.name, kOp);
  const std::vector<Output> rgb = channels_of(kOp, images, resolve(kOp, images));
  const Output& r = rgb[0];
  const Output& g = rgb[1];
  const Output& b = rgb[2];
  const Output value = maximum(maximum(r, g), b);
  const Output range = value - minimum(minimum(r, g), b);
  const Output grey = less_equal(range, 0);
  const Output saturation =
      where_v2(less_equal(value, 0), 0, range / where_v2(less_equal(value, 0), 1, value));
  const Output norm = 1 / (6 * where_v2(grey, 1, range));
  const Output turned =
      where_v2(equal(r, value), norm * (g - b),
               where_v2(equal(g, value), norm * (b - r) + 2.0 / 6, norm * (r - g) + 4.0 / 6));
  const Output hue = where_v2(grey, 0, where_v2(less(turned, 0), turned + 1, turned));
  return stack({hue, saturation, value}, {.axis = -1, .name = scope.result().name});
}

Output hsv_to_rgb(const Input& images, const NameOptions& options) {
  constexpr std::string_view kOp = "hsv_to_rgb";
  const CompositionScope scope(images, options.name, kOp);
  const std::vector<Output> hsv = channels_of(kOp, images, resolve(kOp, images));
  const Output angle = hsv[0] * 6;
  const Output& saturation = hsv[1];
  const auto channel = [&](const Output& share) {
    return ((1 - saturation) + saturation * clipped(share)) * hsv[2];
  };
  return stack(
      {channel(abs(angle - 3) - 1), channel(2 - abs(angle - 2)), channel(2 - abs(angle - 4))},
      {.axis = -1, .name = scope.result().name});
}

Output adjust_hue(const Input& image, const Input& delta) {
  constexpr std::string_view kOp = "adjust_hue";
  const CompositionScope scope(image, "", kOp);
  return changed(kOp, image, [&](const std::vector<Output>& hsv, DType dtype) {
    const Output turn = cast(resolve(kOp, delta, dtype), dtype);
    return std::vector{floormod(hsv[0] + turn, 1), hsv[1], hsv[2]};
  });
}

Output adjust_saturation(const Input& image, const Input& saturation_factor) {
  constexpr std::string_view kOp = "adjust_saturation";
  const CompositionScope scope(image, "", kOp);
  return changed(kOp, image, [&](const std::vector<Output>& hsv, DType dtype) {
    const Output factor = cast(resolve(kOp, saturation_factor, dtype), dtype);
    return std::vector{hsv[0], clipped(hsv[1] * factor), hsv[2]};
  });
}

Output random_hue(const Input& image, double max_delta, const RandomOptions& options) {
  constexpr std::string_view kOp = "random_hue";
  const CompositionScope scope(image, options.name, kOp);
  with_op(kOp, image.where(), [&] {
    if (max_delta >= 0 && max_delta <= 0.5) return;
    throw invalid_argument("max_delta, got {}, expected in [0, 0.5]", max_delta);
  });
  const Output delta =
      random_uniform({}, {.minval = -max_delta, .maxval = Input(max_delta), .seed = options.seed});
  return adjust_hue(image, delta);
}

Output random_saturation(const Input& image, double lower, double upper,
                         const RandomOptions& options) {
  constexpr std::string_view kOp = "random_saturation";
  const CompositionScope scope(image, options.name, kOp);
  with_op(kOp, image.where(), [&] {
    if (lower >= 0 && upper > lower) return;
    throw invalid_argument("lower and upper, got {} and {}, expected 0 <= lower < upper", lower,
                           upper);
  });
  const Output factor =
      random_uniform({}, {.minval = lower, .maxval = Input(upper), .seed = options.seed});
  return adjust_saturation(image, factor);
}

}  // namespace systole::image
