#include "systole/graph/testing/image_reference.h"

#include <algorithm>

namespace systole::graph_testing {
namespace {

int first_spatial(const WindowPlan& plan) { return plan.channels_first ? 2 : 1; }

int64_t extent(const WindowPlan& plan, int axis) {
  return (plan.window[axis] - 1) * plan.dilation[axis] + 1;
}

}  // namespace

std::string WindowPlan::name() const {
  return fmt::format("{}_{}x{}_stride_{}x{}_dilation_{}x{}_{}",
                     padding == Padding::same ? "same" : "valid", window[0], window[1], stride[0],
                     stride[1], dilation[0], dilation[1], data_format());
}

Shape WindowPlan::shape(int64_t batch, int64_t height, int64_t width, int64_t channels) const {
  if (channels_first) return {batch, channels, height, width};
  return {batch, height, width, channels};
}

int64_t WindowPlan::output(int axis, int64_t input) const {
  const int64_t places = padding == Padding::same ? input : input - extent(*this, axis) + 1;
  return (places + stride[axis] - 1) / stride[axis];
}

int64_t WindowPlan::before(int axis, int64_t input) const {
  if (padding == Padding::valid) return 0;
  const int64_t covered = (output(axis, input) - 1) * stride[axis] + extent(*this, axis);
  return std::max<int64_t>(covered - input, 0) / 2;
}

Tensor map_windows(const WindowPlan& plan, const Shape& image, int64_t channels, DType dtype,
                   const WindowFn& f) {
  const int spatial = first_spatial(plan);
  const int64_t size[2] = {image[spatial], image[spatial + 1]};
  const Shape out =
      plan.shape(image[0], plan.output(0, size[0]), plan.output(1, size[1]), channels);
  return generate(out, dtype, [&](IndexSpan at) {
    const int64_t top = at[static_cast<size_t>(spatial)] * plan.stride[0] - plan.before(0, size[0]);
    const int64_t left =
        at[static_cast<size_t>(spatial) + 1] * plan.stride[1] - plan.before(1, size[1]);
    return f(at[0], at[plan.channels_first ? 1 : 3], [&](const Place& place) {
      for (int64_t row = 0; row < plan.window[0]; ++row) {
        for (int64_t column = 0; column < plan.window[1]; ++column) {
          place(row, column, top + row * plan.dilation[0], left + column * plan.dilation[1]);
        }
      }
    });
  });
}

double pixel_or_0(const WindowPlan& plan, const Tensor& image, int64_t batch, int64_t y, int64_t x,
                  int64_t channel) {
  if (plan.channels_first) return element_or_0(image, Dims{batch, channel, y, x});
  return element_or_0(image, Dims{batch, y, x, channel});
}

bool is_inside(const WindowPlan& plan, const Shape& image, int64_t y, int64_t x) {
  const int spatial = first_spatial(plan);
  return y >= 0 && y < image[spatial] && x >= 0 && x < image[spatial + 1];
}

}  // namespace systole::graph_testing
