#include "systole/graph/ops/image/image_resize.h"

#include <algorithm>
#include <cmath>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/op_error.h"
#include "systole/graph/ops/array/array_common.h"

namespace systole {
namespace {

enum : int { kImages, kSize };

float scale_of(int64_t source, int64_t target, bool align_corners) {
  return align_corners && target > 1
             ? static_cast<float>(source - 1) / static_cast<float>(target - 1)
             : static_cast<float>(source) / static_cast<float>(target);
}

std::vector<TensorType> infer_image_resize(const InferContext& c, DType dtype) {
  const TensorType& images = c.input(kImages);
  if (images.shape.rank() != 4) {
    throw invalid_argument("images, got {}, expected [batch, height, width, channels]", images);
  }
  if (c.attr<bool>("align_corners") && c.attr<bool>("half_pixel_centers")) {
    throw invalid_argument("align_corners and half_pixel_centers, got both, expected one at most");
  }
  const auto size = c.input_as_shape(kSize);
  if (!size || size->rank() != 2) {
    throw invalid_argument("size, got {}, expected two integers", c.input(kSize));
  }
  const auto bad = [](int64_t n) { return n != kUnknown && n < 1; };
  if (std::ranges::any_of(*size, bad)) {
    throw invalid_argument("size, got {}, expected sizes above 0", *size);
  }
  const Shape& x = images.shape;
  return {{dtype, {x[0], (*size)[0], (*size)[1], x[3]}}};
}

AttrMap coordinates(const Node& node) {
  return {{"align_corners", node.attr<bool>("align_corners")},
          {"half_pixel_centers", node.attr<bool>("half_pixel_centers")}};
}

Output size_of_images(Output images) { return strided_slice(shape(images), {1}, {3}); }

// The pixel at or before `position`, one of 0 to `last`: to which a float may round up too far.
int32_t pixel_at(float position, int64_t last) {
  const auto pixel = static_cast<int64_t>(std::clamp(position, 0.0F, static_cast<float>(last)));
  return static_cast<int32_t>(std::min(pixel, last));
}

// The sums over an axis of x and one of the matrix; the matrix's other axis is at the end.
hlo::Value contract(hlo::Builder& b, hlo::Value x, int axis, const Tensor& matrix,
                    int matrix_axis) {
  hlo::DotAttrs attrs;
  attrs.lhs_contracting_dimensions = {axis};
  attrs.rhs_contracting_dimensions = {matrix_axis};
  return b.dot_general(x, b.convert(b.constant(matrix), x.dtype()), std::move(attrs));
}

}  // namespace

Tensor ResizeAxis::matrix(int64_t source) const {
  Tensor result = Tensor::zeros(DType::f32, {static_cast<int64_t>(low.size()), source});
  const auto weights = result.data<float>();
  for (size_t i = 0; i < low.size(); ++i) {
    float* const row = weights.data() + static_cast<int64_t>(i) * source;
    row[low[i]] += 1 - fraction[i];
    row[high[i]] += fraction[i];
  }
  return result;
}

Tensor bilinear_weights(int64_t source, int64_t target, bool align_corners,
                        bool half_pixel_centers) {
  return bilinear_axis(source, target, align_corners, half_pixel_centers).matrix(source);
}

Tensor nearest_weights(int64_t source, int64_t target, bool align_corners,
                       bool half_pixel_centers) {
  return nearest_axis(source, target, align_corners, half_pixel_centers).matrix(source);
}

Tensor bicubic_weights(int64_t source, int64_t target, bool align_corners,
                       bool half_pixel_centers) {
  Tensor result = Tensor::zeros(DType::f32, {target, source});
  float* row = result.data<float>().data();
  for (const BicubicPoint& point :
       bicubic_axis(source, target, align_corners, half_pixel_centers)) {
    for (size_t k = 0; k < point.at.size(); ++k) row[point.at[k]] += point.weight[k];
    row += source;
  }
  return result;
}

std::vector<BicubicPoint> bicubic_axis(int64_t source, int64_t target, bool align_corners,
                                       bool half_pixel_centers) {
  constexpr float kSteps = 1024;
  const double a = half_pixel_centers ? -0.5 : -0.75;
  const auto near = [a](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };  // x <= 1
  const auto far = [a](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  const float scale = scale_of(source, target, align_corners);
  std::vector<BicubicPoint> points;
  for (int64_t i = 0; i < target; ++i) {
    const float place = half_pixel_centers ? (static_cast<float>(i) + 0.5F) * scale - 0.5F
                                           : static_cast<float>(i) * scale;
    const float pixel = std::floor(place);
    const double x = std::rint((place - pixel) * kSteps) / kSteps;
    const double weights[] = {far(x + 1), near(x), near(1 - x), far(2 - x)};
    BicubicPoint& point = points.emplace_back();
    double sum = 0;
    for (size_t k = 0; k < 4; ++k) {
      const float wanted = pixel + static_cast<float>(k) - 1;
      point.at[k] = pixel_at(wanted, source - 1);
      const bool outside = half_pixel_centers && static_cast<float>(point.at[k]) != wanted;
      point.weight[k] = outside ? 0 : static_cast<float>(weights[k]);
      sum += point.weight[k];
    }
    // Zeros for what lies outside change the sum, which is 1 else.
    if (half_pixel_centers) {
      for (float& weight : point.weight) weight = static_cast<float>(weight / sum);
    }
  }
  return points;
}

ResizeAxes resize_axes(const LowerContext& c, ResizeAxisFn axis) {
  const TensorType& images = c.input(0).type();
  if (images.shape[1] == 0 || images.shape[2] == 0) {
    throw invalid_argument("images, got {}, expected height and width above 0", images);
  }
  const std::vector<int64_t> size = c.constant_ints(kSize);
  const bool align = c.attr<bool>("align_corners");
  const bool half = c.attr<bool>("half_pixel_centers");
  return {.rows = axis(images.shape[1], size[0], align, half),
          .columns = axis(images.shape[2], size[1], align, half)};
}

ResizeAxis bilinear_axis(int64_t source, int64_t target, bool align_corners,
                         bool half_pixel_centers) {
  ResizeAxis axis;
  axis.low.reserve(static_cast<size_t>(target));
  axis.high.reserve(static_cast<size_t>(target));
  axis.fraction.reserve(static_cast<size_t>(target));
  const float scale = scale_of(source, target, align_corners);
  for (int64_t i = 0; i < target; ++i) {
    const float at = half_pixel_centers ? (static_cast<float>(i) + 0.5F) * scale - 0.5F
                                        : static_cast<float>(i) * scale;
    const float floor = std::floor(at);
    axis.low.push_back(pixel_at(floor, source - 1));
    axis.high.push_back(pixel_at(half_pixel_centers ? std::ceil(at) : floor + 1, source - 1));
    axis.fraction.push_back(at - floor);
  }
  return axis;
}

ResizeAxis nearest_axis(int64_t source, int64_t target, bool align_corners,
                        bool half_pixel_centers) {
  ResizeAxis axis;
  const float scale = scale_of(source, target, align_corners);
  for (int64_t i = 0; i < target; ++i) {
    const float at = (static_cast<float>(i) + (half_pixel_centers ? 0.5F : 0)) * scale;
    const float pixel = align_corners ? std::round(at) : std::floor(at);
    axis.low.push_back(pixel_at(pixel, source - 1));
  }
  axis.high = axis.low;
  axis.fraction.assign(axis.low.size(), 0);
  return axis;
}

std::vector<TensorType> infer_resize(const InferContext& c, DType dtype) {
  check_dtype("dtype", c.input(kImages).dtype, DTypeClass::number);
  return infer_image_resize(c, dtype);
}

std::vector<TensorType> infer_resize_gradient(const InferContext& c) {
  check_dtype("dtype", c.input(kImages).dtype, DTypeClass::floating);
  return infer_image_resize(c, c.input(kImages).dtype);
}

namespace {

// [b,h,w,c] times a matrix for the rows and one for the columns. The axes that a product contracts
// go to the end: [b,w,c,h'], [b,c,h',w'], then channels are moved back.
template <class MatrixFn>
hlo::Value by_matrices(LowerContext& c, int matrix_axis, const MatrixFn& matrix) {
  const hlo::Value images = c.input(kImages);
  const bool narrow = dtype_info(images.dtype()).bits < 32 || !is_floating(images.dtype());
  hlo::Value x = c.b.convert(images, narrow ? DType::f32 : images.dtype());
  for (const int64_t size : c.constant_ints(kSize)) {
    x = contract(c.b, x, 1, matrix(x.shape()[1], size), matrix_axis);
  }
  return c.b.convert(c.b.transpose(x, {0, 2, 3, 1}), c.node.output_types()[0].dtype);
}

}  // namespace

std::vector<hlo::Value> lower_resize(LowerContext& c, ResizeWeightsFn weights) {
  const TensorType& images = c.input(kImages).type();
  if (images.shape[1] == 0 || images.shape[2] == 0) {
    throw invalid_argument("images, got {}, expected height and width above 0", images);
  }
  const bool align = c.attr<bool>("align_corners");
  const bool half = c.attr<bool>("half_pixel_centers");
  return {by_matrices(
      c, 1, [=](int64_t source, int64_t target) { return weights(source, target, align, half); })};
}

std::vector<hlo::Value> lower_resize_gradient(LowerContext& c, ResizeWeightsFn weights) {
  const bool align = c.attr<bool>("align_corners");
  const bool half = c.attr<bool>("half_pixel_centers");
  return {by_matrices(
      c, 0, [=](int64_t target, int64_t source) { return weights(source, target, align, half); })};
}

hlo::Value take(hlo::Builder& b, hlo::Value x, int axis, const std::vector<int32_t>& positions) {
  hlo::GatherAttrs attrs;
  for (int i = 0; i < x.shape().rank(); ++i) {
    if (i != axis) attrs.offset_dims.push_back(i);
  }
  attrs.collapsed_slice_dims = {axis};
  attrs.start_index_map = {axis};
  attrs.index_vector_dim = 1;
  attrs.slice_sizes = x.shape().dims();
  attrs.slice_sizes[axis] = 1;
  const Tensor indices = Tensor::of<int32_t>({static_cast<int64_t>(positions.size())}, positions);
  return b.op(hlo::Opcode::gather, {x, b.constant(indices)}, attrs)->result();
}

Output add_resize(std::string_view op, const Input& images, image::Size size,
                  const image::ResizeOptions& options) {
  const CompositionScope scope(images, options.name, op);
  const Output value = resolve(op, images);
  const bool single = value.shape().rank() == 3;
  const Output batch = single ? expand_dims(value, 0) : value;
  Node* const node =
      Graph::current().add_node(op, {batch, ints_constant({size.height, size.width}, "size")},
                                {{"T", value.dtype()},
                                 {"align_corners", options.align_corners},
                                 {"half_pixel_centers", options.half_pixel_centers}},
                                {}, single ? std::string_view() : scope.result().name);
  if (!single) return node->output();
  return squeeze(node->output(), {.axis = 0, .name = scope.result().name});
}

std::vector<Output> resize_gradient(GradientContext& c, std::string_view grad_op) {
  const Output images = c.input(kImages);
  if (!is_floating(images.dtype())) return {Output(), Output()};
  AttrMap attrs = coordinates(c.node);
  attrs.emplace("T", c.grad().dtype());
  const Output gradient =
      Graph::current().add_node(grad_op, {c.grad(), size_of_images(images)}, attrs)->output();
  return {cast(gradient, images.dtype()), Output()};
}

std::vector<Output> resize_gradient_gradient(GradientContext& c, std::string_view op) {
  AttrMap attrs = coordinates(c.node);
  attrs.emplace("T", c.grad().dtype());
  const Output back =
      Graph::current().add_node(op, {c.grad(), size_of_images(c.input(kImages))}, attrs)->output();
  return {cast(back, c.input(kImages).dtype()), Output()};
}

}  // namespace systole
