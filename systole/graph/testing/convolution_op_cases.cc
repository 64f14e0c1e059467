#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/graph/testing/image_reference.h"
#include "systole/graph/testing/nn_op_cases.h"

namespace systole::graph_testing {
namespace {

Conv2DOptions options_of(const WindowPlan& plan) {
  return {.strides = {plan.stride[0], plan.stride[1]},
          .padding = plan.padding,
          .dilations = {plan.dilation[0], plan.dilation[1]},
          .data_format = plan.data_format()};
}

Tensor convolve(const WindowPlan& plan, const Tensor& image, const Tensor& filter) {
  return map_windows(plan, image.shape(), filter.dim(3), image.dtype(),
                     [&](int64_t batch, int64_t channel, const auto& for_each_place) {
                       double sum = 0;
                       for_each_place([&](int64_t row, int64_t column, int64_t y, int64_t x) {
                         for (int64_t in = 0; in < filter.dim(2); ++in) {
                           sum += pixel_or_0(plan, image, batch, y, x, in) *
                                  element_or_0(filter, Dims{row, column, in, channel});
                         }
                       });
                       return sum;
                     });
}

Tensor convolve_depthwise(const WindowPlan& plan, const Tensor& image, const Tensor& filter) {
  const int64_t multiplier = filter.dim(3);
  return map_windows(plan, image.shape(), filter.dim(2) * multiplier, image.dtype(),
                     [&](int64_t batch, int64_t channel, const auto& for_each_place) {
                       const int64_t in = channel / multiplier;
                       double sum = 0;
                       for_each_place([&](int64_t row, int64_t column, int64_t y, int64_t x) {
                         sum += pixel_or_0(plan, image, batch, y, x, in) *
                                element_or_0(filter, Dims{row, column, in, channel % multiplier});
                       });
                       return sum;
                     });
}

OpCase convolution_case(const WindowPlan& plan, bool depthwise) {
  const Conv2DOptions options = options_of(plan);
  return {.name = (depthwise ? "depthwise_conv2d_" : "conv2d_") + plan.name(),
          .build =
              [=](auto& x) {
                return depthwise ? depthwise_conv2d(x[0], x[1], options)
                                 : conv2d(x[0], x[1], options);
              },
          .inputs = {random_tensor(plan.shape(2, 5, 4, 2), -1, 1, DType::f64, 1),
                     random_tensor({plan.window[0], plan.window[1], 2, 3}, -1, 1, DType::f64, 2)},
          .compute =
              [=](const auto& x) {
                return std::vector{depthwise ? convolve_depthwise(plan, x[0], x[1])
                                             : convolve(plan, x[0], x[1])};
              },
          .tolerance = 1e-14,
          .dtypes = {DType::f32, DType::bf16, DType::f16},
          .gradient_tolerance = 1e-5,
          .known_inputs = {1}};
}

}  // namespace

std::vector<OpCase> convolution_op_cases() {
  std::vector<OpCase> cases;
  const std::vector<WindowPlan> moves = {
      {.window = {3, 2}},
      {.window = {1, 1}},
      {.window = {2, 2}, .stride = {2, 1}},
      {.window = {3, 2}, .stride = {2, 3}},
      {.window = {1, 1}, .stride = {2, 2}},  // skips elements
      {.window = {2, 2}, .dilation = {2, 3}},
      {.window = {2, 2}, .stride = {2, 1}, .dilation = {1, 2}},
  };
  for (const bool depthwise : {false, true}) {
    for (const Padding padding : {Padding::valid, Padding::same}) {
      for (const bool channels_first : {false, true}) {
        for (WindowPlan plan : moves) {
          plan.padding = padding;
          plan.channels_first = channels_first;
          cases.push_back(convolution_case(plan, depthwise));
        }
      }
      WindowPlan small{.window = {2, 2}, .stride = {2, 1}, .padding = padding};
      OpCase twice = convolution_case(small, depthwise);
      twice.name += "_twice";
      twice.inputs = {random_tensor({1, 3, 3, 2}, -1, 1, DType::f64, 1),
                      random_tensor({2, 2, 2, 1}, -1, 1, DType::f64, 2)};
      twice.second_order = true;
      cases.push_back(std::move(twice));
    }
  }
  WindowPlan larger{.window = {7, 7}, .padding = Padding::same};
  OpCase row = convolution_case(larger, false);
  row.name = "conv2d_filter_larger_than_image";
  row.inputs = {random_tensor({1, 2, 3, 1}, -1, 1, DType::f64, 1),
                random_tensor({7, 7, 1, 1}, -1, 1, DType::f64, 2)};
  cases.push_back(std::move(row));
  return cases;
}

}  // namespace systole::graph_testing
