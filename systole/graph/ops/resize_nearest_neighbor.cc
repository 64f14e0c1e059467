#include "systole/graph/image_resize.h"

namespace systole {
namespace {

std::vector<hlo::Value> lower(LowerContext& c) {
  const hlo::Value images = c.input(0);
  check_pixels(images);
  const std::vector<int64_t> size = c.constant_ints(1);
  const bool align = c.attr<bool>("align_corners");
  const bool half = c.attr<bool>("half_pixel_centers");
  const ResizeAxis rows = nearest_axis(images.shape()[1], size[0], align, half);
  const ResizeAxis columns = nearest_axis(images.shape()[2], size[1], align, half);
  return {take(c.b, take(c.b, images, 1, rows.low), 2, columns.low)};
}

}  // namespace

namespace image {

Output resize_nearest_neighbor(Input images, Size size, const ResizeOptions& options) {
  return add_resize("ResizeNearestNeighbor", images, size, options);
}

}  // namespace image

namespace ops {
extern const OpDef op_resize_nearest_neighbor;
const OpDef op_resize_nearest_neighbor{
    .name = "ResizeNearestNeighbor",
    .doc = "Images of another size, each pixel the nearest one.",
    .infer = [](const InferContext& c) { return infer_resize(c, c.input(0).dtype); },
    .lower = lower,
    .gradient = [](GradientContext& c) { return resize_gradient(c, "ResizeNearestNeighborGrad"); },
};
}  // namespace ops
}  // namespace systole
