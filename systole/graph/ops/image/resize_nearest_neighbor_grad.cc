#include "systole/graph/ops/image/image_resize.h"

namespace systole::ops {

extern const OpDef op_resize_nearest_neighbor_grad{
    .name = "ResizeNearestNeighborGrad",
    .doc = "The gradient of ResizeNearestNeighbor by its images.",
    .inputs = "grads: T, size: int32",
    .outputs = "output: T",
    .attrs = "align_corners: bool = false, half_pixel_centers: bool = false",
    .infer = infer_resize_gradient,
    .lower = [](LowerContext& c) { return lower_resize_gradient(c, nearest_weights); },
    .gradient =
        [](GradientContext& c) { return resize_gradient_gradient(c, "ResizeNearestNeighbor"); },
};

}  // namespace systole::ops
