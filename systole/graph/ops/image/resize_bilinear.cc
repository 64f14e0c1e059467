#include "systole/graph/ops/image/image_resize.h"

namespace systole {
namespace {

// Between two pixels: low + (high - low) * fraction, the fractions along `axis`.
hlo::Value interpolated(hlo::Builder& b, hlo::Value low, hlo::Value high, int axis,
                        const ResizeAxis& at) {
  const Tensor fractions =
      Tensor::of<float>({static_cast<int64_t>(at.fraction.size())}, at.fraction);
  const hlo::Value weight =
      b.broadcast_in_dim(b.convert(b.constant(fractions), low.dtype()), low.shape(), {axis});
  return b.add(low, b.multiply(b.subtract(high, low), weight));
}

// Along the width first, as TensorFlow's kernel rounds.
std::vector<hlo::Value> lower_resize_bilinear(LowerContext& c) {
  const hlo::Value images = c.input(0);
  const ResizeAxes axes = resize_axes(c, bilinear_axis);
  const ResizeAxis& columns = axes.columns;
  const auto row = [&](const std::vector<int32_t>& positions) {
    const hlo::Value x = take(c.b, images, 1, positions);
    const hlo::Value left = c.b.convert(take(c.b, x, 2, columns.low), DType::f32);
    const hlo::Value right = c.b.convert(take(c.b, x, 2, columns.high), DType::f32);
    return interpolated(c.b, left, right, 2, columns);
  };
  const hlo::Value result =
      interpolated(c.b, row(axes.rows.low), row(axes.rows.high), 1, axes.rows);
  return {c.b.convert(result, c.node.output_types()[0].dtype)};
}

}  // namespace

namespace image {

Output resize_bilinear(const Input& images, Size size, const ResizeOptions& options) {
  return add_resize("ResizeBilinear", images, size, options);
}

}  // namespace image

namespace ops {
extern const OpDef op_resize_bilinear{
    .name = "ResizeBilinear",
    .doc = "Images of another size, each pixel from the four around it.",
    .inputs = "images: T, size: int32",
    .outputs = "resized_images: float32",
    .attrs = "align_corners: bool = false, half_pixel_centers: bool = false",
    .infer = [](const InferContext& c) { return infer_resize(c, DType::f32); },
    .lower = lower_resize_bilinear,
    .gradient = [](GradientContext& c) { return resize_gradient(c, "ResizeBilinearGrad"); },
};
}  // namespace ops
}  // namespace systole
