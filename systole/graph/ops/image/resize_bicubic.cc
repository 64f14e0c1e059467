#include "systole/graph/ops/image/image_resize.h"

namespace systole {
namespace image {

Output resize_bicubic(const Input& images, Size size, const ResizeOptions& options) {
  return add_resize("ResizeBicubic", images, size, options);
}

}  // namespace image

namespace ops {
extern const OpDef op_resize_bicubic{
    .name = "ResizeBicubic",
    .doc = "Images of another size, each pixel from the sixteen around it.",
    .inputs = "images: T, size: int32",
    .outputs = "resized_images: float32",
    .attrs = "align_corners: bool = false, half_pixel_centers: bool = false",
    .infer = [](const InferContext& c) { return infer_resize(c, DType::f32); },
    .lower = [](LowerContext& c) { return lower_resize(c, bicubic_weights); },
    .gradient = [](GradientContext& c) { return resize_gradient(c, "ResizeBicubicGrad"); },
};
}  // namespace ops
}  // namespace systole
