// Functions of image_ops.h about sizes and mirrors, made of other ops.
#include <cmath>
#include <numeric>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/image_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/random_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/op_error.h"
#include "systole/graph/ops/array/array_common.h"

namespace systole::image {
namespace {

// An image or a batch of them. The axis of the rows, that of the columns is the next.
struct Image {
  Output value;
  int rows = 0;
  int rank() const { return value.shape().rank(); }
  int64_t height() const { return value.shape()[rows]; }
  int64_t width() const { return value.shape()[rows + 1]; }
};

Image image_of(std::string_view op, const Input& input) {
  const Output value = resolve(op, input);
  const int rank = value.shape().rank();
  if (rank != 3 && rank != 4) {
    throw at_line(invalid_argument("{}: image, got {}, expected [height, width, channels] or a "
                                   "batch of that",
                                   op, value.type()),
                  input.where());
  }
  return {value, rank - 3};
}

// The part that begins at (top, left); a size of -1 is the whole of an axis.
Output cut_out(const Image& image, const Input& top, const Input& left, const Input& height,
               const Input& width) {
  std::vector<Output> begin(static_cast<size_t>(image.rank()), int_constant(0));
  std::vector<Output> size(static_cast<size_t>(image.rank()), int_constant(-1));
  const auto rows = static_cast<size_t>(image.rows);
  begin[rows] = top.resolve(DType::s32);
  begin[rows + 1] = left.resolve(DType::s32);
  size[rows] = height.resolve(DType::s32);
  size[rows + 1] = width.resolve(DType::s32);
  for (size_t i = 0; i < size.size(); ++i) {
    if (i < rows || i > rows + 1) size[i] = size_at(image.value, static_cast<int>(i));
  }
  return slice(image.value, stack(begin), stack(size));
}

void check_box(std::string_view op, const Input& input, int64_t offset_height, int64_t offset_width,
               int64_t target_height, int64_t target_width) {
  with_op(op, input.where(), [&] {
    if (offset_height < 0 || offset_width < 0) {
      throw invalid_argument("offsets, got {} and {}, expected >= 0", offset_height, offset_width);
    }
    if (target_height < 1 || target_width < 1) {
      throw invalid_argument("target size, got {} and {}, expected above 0", target_height,
                             target_width);
    }
  });
}

}  // namespace

Output crop_to_bounding_box(const Input& image, int64_t offset_height, int64_t offset_width,
                            int64_t target_height, int64_t target_width) {
  constexpr std::string_view kOp = "crop_to_bounding_box";
  const CompositionScope scope(image, "", kOp);
  check_box(kOp, image, offset_height, offset_width, target_height, target_width);
  const Image x = image_of(kOp, image);
  std::vector<int64_t> begin(static_cast<size_t>(x.rank()), 0);
  std::vector<int64_t> size(static_cast<size_t>(x.rank()), -1);
  const auto rows = static_cast<size_t>(x.rows);
  begin[rows] = offset_height;
  begin[rows + 1] = offset_width;
  size[rows] = target_height;
  size[rows + 1] = target_width;
  return slice(x.value, begin, size);
}

Output pad_to_bounding_box(const Input& image, int64_t offset_height, int64_t offset_width,
                           int64_t target_height, int64_t target_width) {
  constexpr std::string_view kOp = "pad_to_bounding_box";
  const CompositionScope scope(image, "", kOp);
  check_box(kOp, image, offset_height, offset_width, target_height, target_width);
  const Image x = image_of(kOp, image);
  std::vector<Output> before(static_cast<size_t>(x.rank()), int_constant(0));
  std::vector<Output> behind = before;
  const auto rows = static_cast<size_t>(x.rows);
  before[rows] = int_constant(offset_height);
  before[rows + 1] = int_constant(offset_width);
  behind[rows] = int_constant(target_height - offset_height) - size_at(x.value, x.rows);
  behind[rows + 1] = int_constant(target_width - offset_width) - size_at(x.value, x.rows + 1);
  return pad_tensor(x.value, stack({stack(before), stack(behind)}, {.axis = 1}), 0);
}

Output central_crop(const Input& image, double central_fraction) {
  constexpr std::string_view kOp = "central_crop";
  const CompositionScope scope(image, "", kOp);
  with_op(kOp, image.where(), [&] {
    if (central_fraction > 0 && central_fraction <= 1) return;
    throw invalid_argument("central_fraction, got {}, expected in (0, 1]", central_fraction);
  });
  const Image x = image_of(kOp, image);
  if (central_fraction == 1) return x.value;
  const auto margin = [&](int axis) {
    const Output size = size_at(x.value, axis);
    const int64_t known = x.value.shape()[axis];
    if (known != kUnknown) {
      const auto n = static_cast<double>(known);
      return int_constant(static_cast<int64_t>((n - n * central_fraction) / 2));
    }
    const Output n = cast(size, DType::f64);
    return cast(floor((n - n * central_fraction) / 2), DType::s32);
  };
  const Output top = margin(x.rows);
  const Output left = margin(x.rows + 1);
  return cut_out(x, top, left, size_at(x.value, x.rows) - 2 * top,
                 size_at(x.value, x.rows + 1) - 2 * left);
}

Output resize_with_crop_or_pad(const Input& image, int64_t target_height, int64_t target_width) {
  constexpr std::string_view kOp = "resize_with_crop_or_pad";
  const CompositionScope scope(image, "", kOp);
  check_box(kOp, image, 0, 0, target_height, target_width);
  const Image x = image_of(kOp, image);
  // The part of one axis that is kept: where it begins, its size, and the zeros around it.
  struct Fit {
    Output begin, size, before, behind;
  };
  const auto fit = [&](int axis, int64_t target) {
    const Output size = size_at(x.value, axis);
    const Output begin = floordiv(maximum(size - target, 0), 2);
    const Output part = minimum(size, Tensor(static_cast<int32_t>(target)));
    const Output missing = target - part;
    const Output before = floordiv(missing, 2);
    return Fit{begin, part, before, missing - before};
  };
  const Fit rows = fit(x.rows, target_height);
  const Fit columns = fit(x.rows + 1, target_width);
  const Output part = cut_out(x, rows.begin, columns.begin, rows.size, columns.size);
  std::vector<Output> before(static_cast<size_t>(x.rank()), int_constant(0));
  std::vector<Output> behind = before;
  const auto at = static_cast<size_t>(x.rows);
  before[at] = rows.before;
  before[at + 1] = columns.before;
  behind[at] = rows.behind;
  behind[at + 1] = columns.behind;
  const Output padded = pad_tensor(part, stack({stack(before), stack(behind)}, {.axis = 1}), 0);
  // The sizes are those of the target whatever the image's are.
  std::vector<Output> sizes;
  for (int i = 0; i < x.rank(); ++i) sizes.push_back(size_at(x.value, i));
  sizes[at] = int_constant(target_height);
  sizes[at + 1] = int_constant(target_width);
  return reshape(padded, stack(sizes), scope.result());
}

// The places of one draw: numbers up to the largest s32, modulo how many places there are.
Output random_crop(const Input& value, const Shape& size, const RandomOptions& options) {
  constexpr std::string_view kOp = "random_crop";
  const CompositionScope scope(value, options.name, kOp);
  const Output x = resolve(kOp, value);
  with_op(kOp, value.where(), [&] {
    bool fits = size.rank() == x.shape().rank() && size.is_static();
    for (int i = 0; fits && i < size.rank(); ++i) {
      fits = x.shape()[i] == kUnknown || size[i] <= x.shape()[i];
    }
    if (!fits) throw invalid_argument("size, got {}, expected one within {}", size, x.type());
  });
  const Output draws =
      random_uniform({size.rank()}, {.maxval = Input(std::numeric_limits<int32_t>::max()),
                                     .dtype = DType::s32,
                                     .seed = options.seed});
  // Slicing checks sizes that are not known yet.
  const std::vector<int64_t> origin(static_cast<size_t>(size.rank()), 0);
  const Output part = slice(x, origin, size);
  Output result = x;
  for (int i = 0; i < size.rank(); ++i) {
    if (x.shape()[i] == size[i]) continue;
    const Output places = size_at(x, i) - size_at(part, i) + 1;
    const Output draw = strided_slice(draws, {i}, {i + 1}, {.shrink_axis_mask = 1});
    const Output positions = range(0, static_cast<int>(size[i])) + floormod(draw, places);
    result = gather(result, positions, {.axis = i});
  }
  return identity(result, scope.result());
}

Output resize_images(const Input& images, Size size, ResizeMethod method,
                     const ResizeOptions& options) {
  switch (method) {
    case ResizeMethod::nearest_neighbor:
      return resize_nearest_neighbor(images, size, options);
    case ResizeMethod::bicubic:
      return resize_bicubic(images, size, options);
    default:
      return resize_bilinear(images, size, options);
  }
}

Output transpose_image(const Input& image, const NameOptions& options) {
  const CompositionScope scope(image, options.name, "transpose_image");
  const Image x = image_of("transpose_image", image);
  std::vector<int64_t> order(static_cast<size_t>(x.rank()));
  std::iota(order.begin(), order.end(), 0);
  const auto rows = static_cast<size_t>(x.rows);
  std::swap(order[rows], order[rows + 1]);
  return transpose(x.value, {.perm = order, .name = scope.result().name});
}

Output rot90(const Input& image, int64_t k, const NameOptions& options) {
  const CompositionScope scope(image, options.name, "rot90");
  const Image x = image_of("rot90", image);
  switch (((k % 4) + 4) % 4) {
    case 1:
      return reverse(transpose_image(x.value), x.rows, scope.result());
    case 2:
      return reverse(x.value, {x.rows, x.rows + 1}, scope.result());
    case 3:
      return transpose_image(reverse(x.value, x.rows), scope.result());
    default:
      return identity(x.value, scope.result());
  }
}

Output flip_left_right(const Input& image, const NameOptions& options) {
  const CompositionScope scope(image, options.name, "flip_left_right");
  const Image x = image_of("flip_left_right", image);
  return reverse(x.value, x.rows + 1, scope.result());
}

Output flip_up_down(const Input& image, const NameOptions& options) {
  const CompositionScope scope(image, options.name, "flip_up_down");
  const Image x = image_of("flip_up_down", image);
  return reverse(x.value, x.rows, scope.result());
}

namespace {

Output random_flip(const Image& x, int axis, const RandomOptions& options,
                   const CompositionScope& scope) {
  const Output draw =
      x.rows == 0 ? random_uniform({}, {.seed = options.seed})
                  : random_uniform(stack({size_at(x.value, 0), 1, 1, 1}), {.seed = options.seed});
  return where_v2(less(draw, 0.5), reverse(x.value, axis), x.value, scope.result());
}

}  // namespace

Output random_flip_left_right(const Input& image, const RandomOptions& options) {
  const CompositionScope scope(image, options.name, "random_flip_left_right");
  const Image x = image_of("random_flip_left_right", image);
  return random_flip(x, x.rows + 1, options, scope);
}

Output random_flip_up_down(const Input& image, const RandomOptions& options) {
  const CompositionScope scope(image, options.name, "random_flip_up_down");
  const Image x = image_of("random_flip_up_down", image);
  return random_flip(x, x.rows, options, scope);
}

}  // namespace systole::image
