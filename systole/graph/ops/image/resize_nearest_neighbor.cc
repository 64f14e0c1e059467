#include "systole/graph/ops/image/image_resize.h"

namespace systole {
namespace {

std::vector<hlo::Value> lower_resize_nearest_neighbor(LowerContext& c) {
  const auto [rows, columns] = resize_axes(c, nearest_axis);
  return {take(c.b, take(c.b, c.input(0), 1, rows.low), 2, columns.low)};
}

}  // namespace

namespace image {

Output resize_nearest_neighbor(const Input& images, Size size, const ResizeOptions& options) {
  return add_resize("ResizeNearestNeighbor", images, size, options);
}

}  // namespace image

namespace ops {
extern const OpDef op_resize_nearest_neighbor{
    .name = "ResizeNearestNeighbor",
    .doc = "Images of another size, each pixel the nearest one.",
    .inputs = "images: T, size: int32",
    .outputs = "resized_images: T",
    .attrs = "align_corners: bool = false, half_pixel_centers: bool = false",
    .infer = [](const InferContext& c) { return infer_resize(c, c.input(0).dtype); },
    .lower = lower_resize_nearest_neighbor,
    .gradient = [](GradientContext& c) { return resize_gradient(c, "ResizeNearestNeighborGrad"); },
};
}  // namespace ops
}  // namespace systole
