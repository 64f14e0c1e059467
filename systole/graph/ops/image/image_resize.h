// Where the pixels of a resized image come from.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "systole/graph/api/image_ops.h"
#include "systole/graph/core/op_def.h"

namespace systole {

// Along one axis: result i is source[low[i]] + fraction[i] * (source[high[i]] - source[low[i]]),
// computed in f32 as TensorFlow's kernels do.
struct ResizeAxis {
  std::vector<int32_t> low;
  std::vector<int32_t> high;
  std::vector<float> fraction;

  // As [results, source size]: the weight of each source pixel.
  Tensor matrix(int64_t source) const;
};
ResizeAxis bilinear_axis(int64_t source, int64_t target, bool align_corners,
                         bool half_pixel_centers);
// low == high, fractions 0.
ResizeAxis nearest_axis(int64_t source, int64_t target, bool align_corners,
                        bool half_pixel_centers);
using ResizeAxisFn = ResizeAxis (*)(int64_t, int64_t, bool, bool);

// The same as [target, source]: the weight of each source pixel.
using ResizeWeightsFn = Tensor (*)(int64_t source, int64_t target, bool align_corners,
                                   bool half_pixel_centers);
Tensor bilinear_weights(int64_t source, int64_t target, bool align_corners,
                        bool half_pixel_centers);
Tensor nearest_weights(int64_t source, int64_t target, bool align_corners, bool half_pixel_centers);
Tensor bicubic_weights(int64_t source, int64_t target, bool align_corners, bool half_pixel_centers);

// The four source pixels of a result along one axis.
struct BicubicPoint {
  std::array<int32_t, 4> at;
  std::array<float, 4> weight;
};
// By Keys' cubic function with A = -0.75, or with -0.5 and no weight outside of the image for
// `half_pixel_centers`; the distance is rounded to 1/1024, as in TensorFlow's kernel.
std::vector<BicubicPoint> bicubic_axis(int64_t source, int64_t target, bool align_corners,
                                       bool half_pixel_centers);

// Inference of the resize ops: (images [b,h,w,c], size s32[2]) -> `dtype` of the new size.
// Errors: INVALID_ARGUMENT for other ranks, sizes below 1, both coordinate options.
std::vector<TensorType> infer_resize(const InferContext& c, DType dtype);
// Infers the gradients' types: (gradient [b,oh,ow,c], size of the images) -> that of the gradient.
std::vector<TensorType> infer_resize_gradient(const InferContext& c);
// Lowers a resize op to products with the weights.
std::vector<hlo::Value> lower_resize(LowerContext& c, ResizeWeightsFn weights);
// Lowering of the gradients: products with the transposed weights.
std::vector<hlo::Value> lower_resize_gradient(LowerContext& c, ResizeWeightsFn weights);

struct ResizeAxes {
  ResizeAxis rows;
  ResizeAxis columns;
};
// Both axes of the images [b,h,w,c] that a resize op is lowered for. Errors: INVALID_ARGUMENT for
// images without pixels.
ResizeAxes resize_axes(const LowerContext& c, ResizeAxisFn axis);
// x at constant positions of an axis.
hlo::Value take(hlo::Builder& b, hlo::Value x, int axis, const std::vector<int32_t>& positions);

// Adds a resize node for a batch or one image.
Output add_resize(std::string_view op, const Input& images, image::Size size,
                  const image::ResizeOptions& options);
// The gradient in user ops, by the op `grad_op`.
std::vector<Output> resize_gradient(GradientContext& c, std::string_view grad_op);
// That of the gradient op: resizing is linear.
std::vector<Output> resize_gradient_gradient(GradientContext& c, std::string_view op);

}  // namespace systole
