#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/graph/testing/image_reference.h"
#include "systole/graph/testing/nn_op_cases.h"

namespace systole::graph_testing {
namespace {

enum class Form : uint8_t { conv2d, depthwise, conv3d };

// A filter's index: in the window, then these two.
Dims filter_index(IndexSpan in_window, int64_t in, int64_t out) {
  Dims index(in_window.begin(), in_window.end());
  index.push_back(in);
  index.push_back(out);
  return index;
}

Tensor convolve(const WindowPlan& plan, const Tensor& image, const Tensor& filter) {
  return map_windows(plan, image.shape(), filter.dim(-1), image.dtype(),
                     [&](int64_t batch, int64_t channel, const auto& for_each_place) {
                       double sum = 0;
                       for_each_place([&](IndexSpan in_window, IndexSpan at) {
                         for (int64_t in = 0; in < filter.dim(-2); ++in) {
                           sum += pixel_or_0(plan, image, batch, at, in) *
                                  element_or_0(filter, filter_index(in_window, in, channel));
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
                       for_each_place([&](IndexSpan in_window, IndexSpan at) {
                         sum += pixel_or_0(plan, image, batch, at, in) *
                                element_or_0(filter,
                                             filter_index(in_window, in, channel % multiplier));
                       });
                       return sum;
                     });
}

Output build_convolution(const WindowPlan& plan, Form form, const Output& image,
                         const Output& filter) {
  if (form == Form::conv3d) {
    return conv3d(image, filter,
                  {.strides = plan.strides(),
                   .padding = plan.padding,
                   .dilations = plan.dilations(),
                   .data_format = plan.data_format()});
  }
  const Conv2DOptions options{.strides = plan.strides(),
                              .padding = plan.padding,
                              .dilations = plan.dilations(),
                              .data_format = plan.data_format()};
  return form == Form::depthwise ? depthwise_conv2d(image, filter, options)
                                 : conv2d(image, filter, options);
}

OpCase convolution_case(const WindowPlan& plan, Form form) {
  static constexpr std::string_view kNames[] = {"conv2d_", "depthwise_conv2d_", "conv3d_"};
  const bool volume = form == Form::conv3d;
  const Shape image =
      plan.shape(2, volume ? std::vector<int64_t>{4, 3, 5} : std::vector<int64_t>{5, 4}, 2);
  Dims filter(plan.window.begin(), plan.window.end());
  filter.insert(filter.end(), {2, 3});
  return {.name = std::string(kNames[static_cast<size_t>(form)]) + plan.name(),
          .build = [=](auto& x) { return build_convolution(plan, form, x[0], x[1]); },
          .inputs = {random_tensor(image, -1, 1, DType::f64, 1),
                     random_tensor(Shape(filter), -1, 1, DType::f64, 2)},
          .compute =
              [=](const auto& x) {
                return std::vector{form == Form::depthwise ? convolve_depthwise(plan, x[0], x[1])
                                                           : convolve(plan, x[0], x[1])};
              },
          .tolerance = 1e-14,
          .dtypes = {DType::f32, DType::bf16, DType::f16},
          .gradient_tolerance = 1e-5,
          .known_inputs = {1}};
}

// The same with small tensors, checked to second order.
OpCase twice_case(const WindowPlan& plan, Form form) {
  OpCase twice = convolution_case(plan, form);
  twice.name += "_twice";
  Dims filter(plan.window.begin(), plan.window.end());
  filter.insert(filter.end(), {2, 1});
  const std::vector<int64_t> sizes(plan.num_spatial(), form == Form::conv3d ? 2 : 3);
  twice.inputs = {random_tensor(plan.shape(1, sizes, 2), -1, 1, DType::f64, 1),
                  random_tensor(Shape(filter), -1, 1, DType::f64, 2)};
  twice.second_order = true;
  return twice;
}

void add_convolutions(std::vector<OpCase>& cases, const std::vector<WindowPlan>& moves, Form form) {
  for (const Padding padding : {Padding::valid, Padding::same}) {
    for (const bool channels_first : {false, true}) {
      for (WindowPlan plan : moves) {
        plan.padding = padding;
        plan.channels_first = channels_first;
        cases.push_back(convolution_case(plan, form));
      }
    }
    WindowPlan small{.window = {2, 2}, .stride = {2, 1}, .padding = padding};
    if (form == Form::conv3d) {
      small.window.push_back(1);
      small.stride.push_back(1);
    }
    cases.push_back(twice_case(small, form));
  }
}

}  // namespace

std::vector<OpCase> convolution_op_cases() {
  std::vector<OpCase> cases;
  const std::vector<WindowPlan> images = {
      {.window = {3, 2}},
      {.window = {1, 1}},
      {.window = {2, 2}, .stride = {2, 1}},
      {.window = {3, 2}, .stride = {2, 3}},
      {.window = {1, 1}, .stride = {2, 2}},  // skips elements
      {.window = {2, 2}, .dilation = {2, 3}},
      {.window = {2, 2}, .stride = {2, 1}, .dilation = {1, 2}},
  };
  const std::vector<WindowPlan> volumes = {
      {.window = {2, 3, 2}},
      {.window = {3, 1, 2}, .stride = {1, 2, 3}},
      {.window = {1, 2, 2}, .dilation = {3, 2, 1}},
      {.window = {2, 1, 2}, .stride = {2, 2, 1}, .dilation = {1, 1, 3}},
  };
  add_convolutions(cases, images, Form::conv2d);
  add_convolutions(cases, images, Form::depthwise);
  add_convolutions(cases, volumes, Form::conv3d);
  WindowPlan larger{.window = {7, 7}, .padding = Padding::same};
  OpCase row = convolution_case(larger, Form::conv2d);
  row.name = "conv2d_filter_larger_than_image";
  row.inputs = {random_tensor({1, 2, 3, 1}, -1, 1, DType::f64, 1),
                random_tensor({7, 7, 1, 1}, -1, 1, DType::f64, 2)};
  cases.push_back(std::move(row));
  return cases;
}

}  // namespace systole::graph_testing
