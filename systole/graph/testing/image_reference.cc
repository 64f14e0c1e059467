#include "systole/graph/testing/image_reference.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace systole::graph_testing {
namespace {

int64_t extent(const WindowPlan& plan, size_t axis) {
  return (plan.window[axis] - 1) * plan.dilation_of(axis) + 1;
}

std::vector<int64_t> filled_sizes(const std::vector<int64_t>& sizes, size_t count) {
  return sizes.empty() ? std::vector<int64_t>(count, 1) : sizes;
}

}  // namespace

std::vector<int64_t> WindowPlan::strides() const { return filled_sizes(stride, num_spatial()); }

std::vector<int64_t> WindowPlan::dilations() const { return filled_sizes(dilation, num_spatial()); }

std::string WindowPlan::data_format() const {
  const std::string spatial = num_spatial() == 2 ? "HW" : "DHW";
  return channels_first ? "NC" + spatial : "N" + spatial + "C";
}

int WindowPlan::channel_axis() const {
  return channels_first ? 1 : static_cast<int>(num_spatial()) + 1;
}

std::string WindowPlan::name() const {
  return fmt::format("{}_{}_stride_{}_dilation_{}_{}", padding == Padding::same ? "same" : "valid",
                     fmt::join(window, "x"), fmt::join(strides(), "x"), fmt::join(dilations(), "x"),
                     data_format());
}

Shape WindowPlan::shape(int64_t batch, const std::vector<int64_t>& sizes, int64_t channels) const {
  Dims dims{batch};
  dims.insert(dims.end(), sizes.begin(), sizes.end());
  dims.insert(dims.begin() + channel_axis(), channels);
  return Shape(std::move(dims));
}

int64_t WindowPlan::output(size_t axis, int64_t input) const {
  const int64_t places = padding == Padding::same ? input : input - extent(*this, axis) + 1;
  return (places + stride_of(axis) - 1) / stride_of(axis);
}

int64_t WindowPlan::before(size_t axis, int64_t input) const {
  if (padding == Padding::valid) return 0;
  const int64_t covered = (output(axis, input) - 1) * stride_of(axis) + extent(*this, axis);
  return std::max<int64_t>(covered - input, 0) / 2;
}

Tensor map_windows(const WindowPlan& plan, const Shape& input, int64_t channels, DType dtype,
                   const WindowFn& f) {
  const size_t spatial = plan.num_spatial();
  const auto first = static_cast<size_t>(plan.first_spatial());
  const auto size = [&](size_t i) { return input[static_cast<int>(first + i)]; };
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < spatial; ++i) sizes.push_back(plan.output(i, size(i)));
  const Shape window(plan.window);
  return generate(plan.shape(input[0], sizes, channels), dtype, [&](IndexSpan at) {
    std::vector<int64_t> start;
    for (size_t i = 0; i < spatial; ++i) {
      start.push_back(at[first + i] * plan.stride_of(i) - plan.before(i, size(i)));
    }
    const int64_t channel = at[plan.channel_axis()];
    return f(at[0], channel, [&](const Place& place) {
      for_each_index(window, [&](IndexSpan in_window) {
        std::vector<int64_t> in_input = start;
        for (size_t i = 0; i < spatial; ++i) in_input[i] += in_window[i] * plan.dilation_of(i);
        place(in_window, in_input);
      });
    });
  });
}

double pixel_or_0(const WindowPlan& plan, const Tensor& input, int64_t batch, IndexSpan at,
                  int64_t channel) {
  Dims index{batch};
  index.insert(index.end(), at.begin(), at.end());
  index.insert(index.begin() + plan.channel_axis(), channel);
  return element_or_0(input, index);
}

bool is_inside(const WindowPlan& plan, const Shape& input, IndexSpan at) {
  for (size_t i = 0; i < at.size(); ++i) {
    if (at[i] < 0 || at[i] >= input[plan.first_spatial() + static_cast<int>(i)]) return false;
  }
  return true;
}

}  // namespace systole::graph_testing
