// Functions of image_ops.h about light, made of other ops.
#include <algorithm>
#include <cmath>
#include <limits>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/image_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/random_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/op_error.h"

namespace systole::image {
namespace {

double largest(DType dtype) {
  const int bits = dtype_info(dtype).bits - (dtype_info(dtype).is_signed ? 1 : 0);
  return std::ldexp(1.0, bits) - 1;
}

double smallest(DType dtype) {
  return dtype_info(dtype).is_signed ? -std::ldexp(1.0, dtype_info(dtype).bits - 1) : 0;
}

// The largest number of a floating dtype.
double largest_of_floats(DType dtype) {
  return dtype == DType::f16 ? 65504 : std::numeric_limits<float>::max();
}

// The largest number of the floating dtype that is at most `limit`, one less than a power of two.
double largest_below(DType dtype, double limit) {
  int digits = std::numeric_limits<double>::digits;
  if (dtype == DType::f32) digits = std::numeric_limits<float>::digits;
  if (dtype == DType::f16) digits = 11;
  if (dtype == DType::bf16) digits = 8;
  const double above = limit + 1;
  const double step = std::ldexp(above, -digits);
  return std::min(step <= 1 ? limit : above - step, largest_of_floats(dtype));
}

// Into the range of an integer dtype. Conversion of integers wraps; that of floats saturates here,
// and wraps where TensorFlow runs the graph.
Output saturated(const Output& x, DType dtype) {
  const auto limit = [&](double value) { return Tensor::full(x.dtype(), {}, value); };
  if (is_floating(x.dtype())) {
    const double low = std::max(smallest(dtype), -largest_of_floats(x.dtype()));
    const double high = largest_below(x.dtype(), largest(dtype));
    return cast(clip_by_value(x, limit(low), limit(high)), dtype);
  }
  const double low = std::max(smallest(dtype), smallest(x.dtype()));
  const double high = std::min(largest(dtype), largest(x.dtype()));
  return cast(clip_by_value(x, limit(low), limit(high)), dtype);
}

// Maps floats of [0, 1] to integers, each of an equal share.
Output from_fractions(const Output& x, DType dtype, bool saturate) {
  const double scale = largest(dtype) + 0.5;
  const Output scaled = x * scale;
  return saturate ? saturated(scaled, dtype) : cast(scaled, dtype);
}

Output between_integers(const Output& x, DType dtype, bool saturate) {
  const double from = largest(x.dtype());
  const double to = largest(dtype);
  if (from > to) {
    const auto factor =
        static_cast<int64_t>((static_cast<int64_t>(from) + 1) / (static_cast<int64_t>(to) + 1));
    const Output scaled = floordiv(x, Input(factor));
    return saturate ? saturated(scaled, dtype) : cast(scaled, dtype);
  }
  const auto factor =
      static_cast<int64_t>((static_cast<int64_t>(to) + 1) / (static_cast<int64_t>(from) + 1));
  const Output wide =
      saturate && smallest(dtype) == 0 ? cast(maximum(x, 0), dtype) : cast(x, dtype);
  return wide * Input(factor);
}

void check_image_dtype(std::string_view op, const Input& image, DType dtype) {
  with_op(op, image.where(), [&] {
    check_dtype("dtype", dtype, DTypeClass::number);
    if (is_integer(dtype) && dtype_info(dtype).bits > 32) {
      throw invalid_argument("dtype, got {}, expected at most 32 bits", dtype);
    }
  });
}

}  // namespace

Output convert_image_dtype(const Input& image, DType dtype, bool saturate) {
  constexpr std::string_view kOp = "convert_image_dtype";
  const CompositionScope scope(image, "", kOp);
  const Output x = resolve(kOp, image);
  check_image_dtype(kOp, image, x.dtype());
  check_image_dtype(kOp, image, dtype);
  if (x.dtype() == dtype) return x;
  if (is_floating(x.dtype())) {
    return is_floating(dtype) ? cast(x, dtype) : from_fractions(x, dtype, saturate);
  }
  if (is_floating(dtype)) return cast(x, dtype) * (1 / largest(x.dtype()));
  return between_integers(x, dtype, saturate);
}

Output adjust_brightness(const Input& image, const Input& delta) {
  constexpr std::string_view kOp = "adjust_brightness";
  const CompositionScope scope(image, "", kOp);
  const Output x = resolve(kOp, image);
  const DType wide = is_floating(x.dtype()) ? x.dtype() : DType::f32;
  const Output adjusted = convert_image_dtype(x, wide) + cast(resolve(kOp, delta, wide), wide);
  return convert_image_dtype(adjusted, x.dtype(), true);
}

Output adjust_contrast(const Input& images, const Input& contrast_factor) {
  constexpr std::string_view kOp = "adjust_contrast";
  const CompositionScope scope(images, "", kOp);
  const Output x = resolve(kOp, images);
  const int rank = x.shape().rank();
  with_op(kOp, images.where(), [&] {
    if (rank < 3) {
      throw invalid_argument("images, got {}, expected [.., height, width, channels]", x.type());
    }
  });
  const DType wide = is_floating(x.dtype()) ? x.dtype() : DType::f32;
  const Output value = convert_image_dtype(x, wide);
  const Output mean = reduce_mean(value, {.axis = {rank - 3, rank - 2}, .keepdims = true});
  const Output factor = cast(resolve(kOp, contrast_factor, wide), wide);
  return convert_image_dtype((value - mean) * factor + mean, x.dtype(), true);
}

Output random_brightness(const Input& image, double max_delta, const RandomOptions& options) {
  constexpr std::string_view kOp = "random_brightness";
  const CompositionScope scope(image, options.name, kOp);
  with_op(kOp, image.where(), [&] {
    if (max_delta < 0) throw invalid_argument("max_delta, got {}, expected >= 0", max_delta);
  });
  const Output delta =
      random_uniform({}, {.minval = -max_delta, .maxval = Input(max_delta), .seed = options.seed});
  return adjust_brightness(image, delta);
}

Output random_contrast(const Input& image, double lower, double upper,
                       const RandomOptions& options) {
  constexpr std::string_view kOp = "random_contrast";
  const CompositionScope scope(image, options.name, kOp);
  with_op(kOp, image.where(), [&] {
    if (lower < 0 || upper <= lower) {
      throw invalid_argument("lower and upper, got {} and {}, expected 0 <= lower < upper", lower,
                             upper);
    }
  });
  const Output factor =
      random_uniform({}, {.minval = lower, .maxval = Input(upper), .seed = options.seed});
  return adjust_contrast(image, factor);
}

Output per_image_standardization(const Input& image) {
  constexpr std::string_view kOp = "per_image_standardization";
  const CompositionScope scope(image, "", kOp);
  const Output given = resolve(kOp, image);
  const int rank = given.shape().rank();
  with_op(kOp, image.where(), [&] {
    if (rank < 3) {
      throw invalid_argument("image, got {}, expected [.., height, width, channels]", given.type());
    }
  });
  const Output x = is_floating(given.dtype()) ? given : cast(given, DType::f32);
  const Axes all{rank - 3, rank - 2, rank - 1};
  const Output mean = reduce_mean(x, {.axis = all, .keepdims = true});
  const Output centred = x - mean;
  const Output variance = reduce_mean(square(centred), {.axis = all, .keepdims = true});
  const Output pixels = cast(size(x), x.dtype()) / cast(size(mean), x.dtype());
  return divide(centred, maximum(sqrt(variance), rsqrt(pixels)), scope.result());
}

Output rgb_to_grayscale(const Input& images, const NameOptions& options) {
  constexpr std::string_view kOp = "rgb_to_grayscale";
  const CompositionScope scope(images, options.name, kOp);
  const Output x = resolve(kOp, images);
  with_op(kOp, images.where(), [&] {
    const int rank = x.shape().rank();
    if (rank > 0 && Shape{x.shape()[rank - 1]}.compatible_with({3})) return;
    throw invalid_argument("images, got {}, expected 3 channels", x.type());
  });
  const DType wide = is_floating(x.dtype()) ? x.dtype() : DType::f32;
  const Output weights = cast(Tensor::of<float>({3}, {0.2989F, 0.5870F, 0.1140F}), wide);
  const Output gray =
      reduce_sum(convert_image_dtype(x, wide) * weights, {.axis = -1, .keepdims = true});
  return convert_image_dtype(gray, x.dtype());
}

Output grayscale_to_rgb(const Input& images, const NameOptions& options) {
  constexpr std::string_view kOp = "grayscale_to_rgb";
  const CompositionScope scope(images, options.name, kOp);
  const Output x = resolve(kOp, images);
  const int rank = x.shape().rank();
  with_op(kOp, images.where(), [&] {
    if (rank > 0 && Shape{x.shape()[rank - 1]}.compatible_with({1})) return;
    throw invalid_argument("images, got {}, expected 1 channel", x.type());
  });
  std::vector<int64_t> multiples(static_cast<size_t>(rank), 1);
  multiples.back() = 3;
  return tile(x, multiples, scope.result());
}

}  // namespace systole::image
