#include "systole/graph/ops/image/image_resize.h"

namespace systole::ops {

extern const OpDef op_resize_bicubic_grad{
    .name = "ResizeBicubicGrad",
    .doc = "The gradient of ResizeBicubic by its images.",
    .inputs = "grads: float32, original_image: T",
    .outputs = "output: T",
    .attrs = "align_corners: bool = false, half_pixel_centers: bool = false",
    .infer = infer_resize_gradient,
    .lower = [](LowerContext& c) { return lower_resize_gradient(c, bicubic_weights); },
    .gradient = [](GradientContext& c) { return resize_gradient_gradient(c, "ResizeBicubic"); },
};

}  // namespace systole::ops
