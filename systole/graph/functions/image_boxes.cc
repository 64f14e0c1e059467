// Functions of image_ops.h about boxes in images, made of other ops.
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/image_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/random_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/op_error.h"
#include "systole/graph/functions/array_functions.h"
#include "systole/graph/ops/array/array_common.h"

namespace systole::image {
namespace {

// Attempts at once: [attempts] of each, whole numbers in f32.
struct Attempts {
  Output height, width, top, left;
  Output fits;  // pred: within the image, and of an area that is allowed
};

struct ImageSize {
  Output height, width;  // f32 scalars
};

// A whole number drawn from [0, count) by a fraction of [0, 1).
Output drawn(const Output& fraction, const Output& count) {
  return minimum(floor(fraction * count), maximum(count - 1, 0));
}

// As TensorFlow's kernel chooses them: an aspect ratio, then a height among those that fit, whose
// width is moved into the limits of the area by one row.
Attempts make_attempts(const ImageSize& image, const DistortedBoxOptions& o) {
  const Output draws = random_uniform({o.max_attempts, 4}, {.seed = o.seed});
  const std::vector<Output> u = unstack(draws, {.num = 4, .axis = 1});
  const Output aspect = u[0] * (o.max_aspect_ratio - o.min_aspect_ratio) + o.min_aspect_ratio;
  const Output area = image.height * image.width;
  const Output smallest = area * o.min_area;
  const Output largest = area * o.max_area;
  const Output widest = floor((image.width + (0.5 - 1e-7)) / aspect);
  Output tallest = round(sqrt(largest / aspect));
  tallest = where_v2(greater(round(tallest * aspect), image.width), widest, tallest);
  tallest = where_v2(greater(round(tallest * aspect), image.width), tallest - 1, tallest);
  tallest = minimum(tallest, image.height);
  Output height = minimum(round(sqrt(smallest / aspect)), tallest);
  height = height + drawn(u[1], tallest - height + 1);
  const auto area_of = [&](const Output& rows) { return rows * round(rows * aspect); };
  height = where_v2(less(area_of(height), smallest), height + 1, height);
  height = where_v2(greater(area_of(height), largest), height - 1, height);
  const Output width = round(height * aspect);
  const Output got = height * width;
  const Output in_area = logical_and(greater_equal(got, smallest), less_equal(got, largest));
  const Output in_image =
      logical_and(less_equal(height, image.height), less_equal(width, image.width));
  return {.height = height,
          .width = width,
          .top = drawn(u[2], image.height - height),
          .left = drawn(u[3], image.width - width),
          .fits = logical_and(logical_and(in_area, in_image), greater(got, 0))};
}

// The length that intervals [attempts,1] and [1,n] have in common.
Output overlap(const Output& begin, const Output& end, const Output& from, const Output& to) {
  return maximum(minimum(end, to) - maximum(begin, from), 0);
}

// pred [attempts]: whether enough of one of the boxes [n,4] lies in it.
Output covers(const Attempts& a, const ImageSize& image, const Output& boxes, double share) {
  const std::vector<Output> edges = unstack(boxes, {.num = 4, .axis = 1});
  const auto column = [](const Output& x) { return expand_dims(x, 1); };
  const auto row = [](const Output& x, const Output& size) {
    return expand_dims(floor(x * size), 0);
  };
  const Output top = row(edges[0], image.height);
  const Output left = row(edges[1], image.width);
  const Output bottom = row(edges[2], image.height);
  const Output right = row(edges[3], image.width);
  const Output area = (bottom - top) * (right - left);
  const Output common = overlap(column(a.top), column(a.top + a.height), top, bottom) *
                        overlap(column(a.left), column(a.left + a.width), left, right);
  const Output enough = greater_equal(common, area * share);
  return reduce_any(logical_and(enough, greater_equal(area, 1)), {.axis = 1});
}

void check_boxes(std::string_view op, const Input& input, const Output& boxes) {
  with_op(op, input.where(), [&] {
    if (boxes.dtype() == DType::f32 && boxes.shape().rank() == 3 &&
        Shape{boxes.shape()[2]}.compatible_with({4})) {
      return;
    }
    throw invalid_argument("boxes, got {}, expected f32[batch,n,4]", boxes.type());
  });
}

Output scalar_at(const Output& vector, const Output& index) { return gather(vector, index); }

}  // namespace

DistortedBox sample_distorted_bounding_box(const Input& image_size, const Input& bounding_boxes,
                                           const DistortedBoxOptions& options) {
  constexpr std::string_view kOp = "sample_distorted_bounding_box";
  const CompositionScope scope(image_size, options.name, kOp);
  const Output given = resolve(kOp, image_size);
  const Output boxes = resolve(kOp, bounding_boxes);
  check_boxes(kOp, bounding_boxes, boxes);
  with_op(kOp, image_size.where(), [&] {
    if (is_integer(given.dtype()) && given.shape().compatible_with({3})) return;
    throw invalid_argument("image_size, got {}, expected height, width and channels", given.type());
  });
  const std::vector<Output> sizes = unstack(to_int32(given), {.num = 3});
  const ImageSize image{to_float(sizes[0]), to_float(sizes[1])};
  const Attempts a = make_attempts(image, options);
  Output covered = covers(a, image, reshape(boxes, {-1, 4}), options.min_object_covered);
  if (options.use_image_if_no_bounding_boxes) {
    const Output enough =
        greater_equal(a.height * a.width, image.height * image.width * options.min_object_covered);
    covered = logical_or(covered, logical_and(equal(size_at(boxes, 1), 0), enough));
  }
  const Output good = logical_and(a.fits, covered);
  const Output first = argmax(to_int32(good), {.axis = 0});
  const Output found = reduce_any(good);
  const auto chosen = [&](const Output& values, const Output& whole) {
    return to_int32(where_v2(found, scalar_at(values, first), whole));
  };
  const Output zero = constant(0.0F);
  const Output top = chosen(a.top, zero);
  const Output left = chosen(a.left, zero);
  const Output height = chosen(a.height, image.height);
  const Output width = chosen(a.width, image.width);
  const Output edges =
      stack({to_float(top) / image.height, to_float(left) / image.width,
             to_float(top + height) / image.height, to_float(left + width) / image.width});
  return {.begin = stack({top, left, int_constant(0)}),
          .size = stack({height, width, int_constant(-1)}),
          .bboxes = reshape(edges, {1, 1, 4})};
}

namespace {

// TensorFlow's ten colours as rows of four channels.
Tensor box_colours() {
  return Tensor::of<float>(
      {10, 4}, {1,   1,   0, 1, 0,   0, 1, 1, 1, 0, 0,   1, 0, 1, 0, 1, 0.5, 0, 0.5, 1,
                0.5, 0.5, 0, 1, 0.5, 0, 0, 1, 0, 0, 0.5, 1, 0, 1, 1, 1, 1,   0, 1,   1});
}

// pred [batch,n,size]: the places between the edges [batch,n], and those that are one of them.
struct Span {
  Output within, edge;
};
Span span_of(const Output& begin, const Output& end, const Output& size) {
  const Output places = reshape(to_float(range(size)), {1, 1, -1});
  const Output last = to_float(size) - 1;
  const Output low = expand_dims(floor(begin * last), 2);
  const Output high = expand_dims(floor(end * last), 2);
  return {.within = logical_and(greater_equal(places, low), less_equal(places, high)),
          .edge = logical_or(equal(places, low), equal(places, high))};
}

}  // namespace

Output draw_bounding_boxes(const Input& images, const Input& boxes, const NameOptions& options) {
  constexpr std::string_view kOp = "draw_bounding_boxes";
  const CompositionScope scope(images, options.name, kOp);
  const Output x = resolve(kOp, images);
  const Output given = resolve(kOp, boxes);
  check_boxes(kOp, boxes, given);
  with_op(kOp, images.where(), [&] {
    const Shape& shape = x.shape();
    const bool channels = shape.rank() == 4 && (shape[3] == 1 || shape[3] == 3 || shape[3] == 4);
    if (channels && is_floating(x.dtype())) return;
    throw invalid_argument("images, got {}, expected floats [batch, height, width, 1, 3 or 4]",
                           x.type());
  });
  const std::vector<Output> edges = unstack(given, {.num = 4, .axis = 2});
  const Span rows = span_of(edges[0], edges[2], size_at(x, 1));
  const Span columns = span_of(edges[1], edges[3], size_at(x, 2));
  const auto both = [](const Output& row, const Output& column) {
    return logical_and(expand_dims(row, 3), expand_dims(column, 2));
  };
  // [batch,n,height,width]; of several boxes the last one is drawn over the others.
  const Output drawn_at =
      logical_or(both(rows.edge, columns.within), both(rows.within, columns.edge));
  const Output numbers = reshape(range(size_at(given, 1)) + 1, {1, -1, 1, 1});
  const Output last = reduce_max(where_v2(drawn_at, numbers, 0), {.axis = 1});
  const int64_t channels = x.shape()[3];
  const Output colours = channels == 1
                             ? ones({10, 1}, x.dtype())
                             : cast(slice(box_colours(), {0, 0}, {10, channels}), x.dtype());
  const Output colour = gather(colours, floormod(maximum(last - 1, 0), 10));
  return where_v2(greater(expand_dims(last, 3), 0), colour, x, scope.result());
}

namespace {

// Where the pixels of crops are in an image, along one axis: [n, target].
struct CropAxis {
  Output low, high;  // s32, in range
  Output fraction;   // f32
  Output inside;     // pred
};

CropAxis crop_axis(const Output& begin, const Output& end, const Output& size, int64_t target,
                   bool nearest) {
  const Output last = to_float(size) - 1;
  const Output from = expand_dims(begin * last, 1);
  const Output span = expand_dims((end - begin) * last, 1);
  const Output places = reshape(to_float(range(static_cast<int>(target))), {1, -1});
  const Output at =
      target > 1 ? from + places * (span / static_cast<double>(target - 1)) : from + span * 0.5;
  const Output clipped = minimum(maximum(at, 0), last);
  const Output low = nearest ? round(clipped) : floor(clipped);
  return {.low = to_int32(low),
          .high = to_int32(nearest ? low : ceil(clipped)),
          .fraction = nearest ? zeros_like(low) : clipped - low,
          .inside = logical_and(greater_equal(at, 0), less_equal(at, last))};
}

// [n, rows, columns, channels] at the rows [n, rows] and columns [n, columns] of images.
Output pixels_at(const Output& images, const Output& number, const Output& rows,
                 const Output& columns) {
  const Output y = expand_dims(rows, 2);
  const Output x = expand_dims(columns, 1);
  const Output none = zeros_like(y) * x;
  const Output which = reshape(to_int32(number), {-1, 1, 1});
  return to_float(gather_nd(images, stack({which + none, y + none, x + none}, {.axis = 3})));
}

}  // namespace

Output crop_and_resize(const Input& images, const Input& boxes, const Input& box_indices, Size size,
                       const CropAndResizeOptions& options) {
  constexpr std::string_view kOp = "crop_and_resize";
  const CompositionScope scope(images, options.name, kOp);
  const Output x = resolve(kOp, images);
  const Output given = resolve(kOp, boxes);
  const Output number = resolve(kOp, box_indices);
  with_op(kOp, images.where(), [&] {
    if (x.shape().rank() != 4) {
      throw invalid_argument("images, got {}, expected [batch, height, width, channels]", x.type());
    }
    if (given.shape().rank() != 2 || !Shape{given.shape()[1]}.compatible_with({4})) {
      throw invalid_argument("boxes, got {}, expected [n,4]", given.type());
    }
    if (!is_integer(number.dtype()) || number.shape().rank() != 1) {
      throw invalid_argument("box_indices, got {}, expected integers [n]", number.type());
    }
    if (size.height < 1 || size.width < 1) {
      throw invalid_argument("crop_size, got {} and {}, expected above 0", size.height, size.width);
    }
  });
  const bool nearest = options.method == ResizeMethod::nearest_neighbor;
  const std::vector<Output> edges = unstack(given, {.num = 4, .axis = 1});
  const CropAxis rows = crop_axis(edges[0], edges[2], size_at(x, 1), size.height, nearest);
  const CropAxis columns = crop_axis(edges[1], edges[3], size_at(x, 2), size.width, nearest);
  const Output across = expand_dims(expand_dims(columns.fraction, 1), 3);
  const Output down = expand_dims(expand_dims(rows.fraction, 2), 3);
  const auto along = [&](const Output& row) {
    const Output left = pixels_at(x, number, row, columns.low);
    return left + (pixels_at(x, number, row, columns.high) - left) * across;
  };
  const Output top = along(rows.low);
  const Output mixed = top + (along(rows.high) - top) * down;
  const Output inside = logical_and(expand_dims(rows.inside, 2), expand_dims(columns.inside, 1));
  return where_v2(expand_dims(inside, 3), mixed, options.extrapolation_value, scope.result());
}

}  // namespace systole::image
