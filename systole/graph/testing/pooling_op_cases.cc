#include <algorithm>
#include <limits>

#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/graph/gradients/gradients.h"
#include "systole/graph/testing/image_reference.h"
#include "systole/graph/testing/nn_op_cases.h"

namespace systole::graph_testing {
namespace {

// The largest or the mean of the elements that are no padding.
Tensor pool_by_hand(const WindowPlan& plan, const Tensor& image, bool largest) {
  return map_windows(plan, image.shape(), image.dim(plan.channel_axis()), image.dtype(),
                     [&](int64_t batch, int64_t channel, const auto& for_each_place) {
                       double sum = 0;
                       double count = 0;
                       double most = -std::numeric_limits<double>::infinity();
                       for_each_place([&](IndexSpan, IndexSpan at) {
                         if (!is_inside(plan, image.shape(), at)) return;
                         const double v = pixel_or_0(plan, image, batch, at, channel);
                         sum += v;
                         count += 1;
                         most = std::max(most, v);
                       });
                       return largest ? most : sum / count;
                     });
}

Output build_pool(const WindowPlan& plan, bool largest, const Output& x) {
  if (plan.num_spatial() == 3) {
    const Pool3DOptions options{.ksize = plan.window,
                                .strides = plan.strides(),
                                .padding = plan.padding,
                                .data_format = plan.data_format()};
    return largest ? max_pool3d(x, options) : avg_pool3d(x, options);
  }
  const PoolOptions options{.ksize = plan.window,
                            .strides = plan.strides(),
                            .padding = plan.padding,
                            .data_format = plan.data_format()};
  return largest ? max_pool(x, options) : avg_pool(x, options);
}

OpCase pool_case(const WindowPlan& plan, bool largest) {
  const bool volume = plan.num_spatial() == 3;
  const Shape image =
      plan.shape(2, volume ? std::vector<int64_t>{4, 3, 5} : std::vector<int64_t>{5, 4}, 2);
  return {
      .name = fmt::format("{}_pool{}_{}", largest ? "max" : "avg", volume ? "3d" : "", plan.name()),
      .build = [=](auto& x) { return build_pool(plan, largest, x[0]); },
      .inputs = {random_tensor(image, -1, 1, DType::f64)},
      .compute = [=](const auto& x) { return std::vector{pool_by_hand(plan, x[0], largest)}; },
      .tolerance = 1e-14,
      .dtypes = {DType::f32, DType::bf16, DType::f16}};
}

// The gradient's gradient flows through the window's gradient, not the selection.
OpCase pool_twice_case(const WindowPlan& plan, bool largest) {
  OpCase twice = pool_case(plan, largest);
  twice.name += "_twice";
  const bool volume = plan.num_spatial() == 3;
  const Shape image =
      plan.shape(1, volume ? std::vector<int64_t>{2, 3, 2} : std::vector<int64_t>{3, 4}, 2);
  twice.inputs = {random_tensor(image, -1, 1, DType::f64)};
  twice.build = [=](auto& x) { return square(build_pool(plan, largest, x[0])); };
  twice.compute = nullptr;
  twice.second_order = true;
  return twice;
}

void add_pools(std::vector<OpCase>& cases) {
  const std::vector<WindowPlan> moves = {
      {.window = {2, 2}, .stride = {2, 2}},
      {.window = {3, 3}, .stride = {2, 2}},
      {.window = {3, 2}},
      {.window = {1, 2}, .stride = {3, 2}},  // skips elements
      {.window = {4, 4}, .stride = {4, 4}},
      {.window = {2, 2, 2}, .stride = {2, 2, 2}},
      {.window = {3, 2, 1}, .stride = {1, 2, 3}},
      {.window = {2, 3, 3}},
  };
  for (const bool largest : {true, false}) {
    for (const Padding padding : {Padding::valid, Padding::same}) {
      for (const bool channels_first : {false, true}) {
        for (WindowPlan plan : moves) {
          plan.padding = padding;
          plan.channels_first = channels_first;
          cases.push_back(pool_case(plan, largest));
        }
      }
      cases.push_back(
          pool_twice_case({.window = {2, 3}, .stride = {1, 2}, .padding = padding}, largest));
      cases.push_back(
          pool_twice_case({.window = {2, 2, 1}, .stride = {1, 2, 1}, .padding = padding}, largest));
    }
  }
}

void add_edges(std::vector<OpCase>& cases) {
  for (const DType dtype : {DType::s32, DType::u8, DType::s8}) {
    OpCase integers =
        pool_case({.window = {2, 2}, .stride = {2, 2}, .padding = Padding::same}, true);
    integers.name = fmt::format("max_pool_{}", dtype);
    integers.inputs = {random_tensor({1, 5, 4, 2}, 0, 100, dtype)};
    integers.dtypes = {};
    integers.gradient = false;
    cases.push_back(std::move(integers));
  }
  // A sum of 4096 in 16 bits would stop far below.
  for (const DType dtype : {DType::bf16, DType::f16}) {
    cases.push_back(
        {.name = fmt::format("avg_pool_many_{}", dtype),
         .build = [](auto& x) { return avg_pool(x[0], {.ksize = {64}, .strides = {64}}); },
         .inputs = {Tensor::full(dtype, {1, 64, 64, 1}, 3)},
         .expected = {Tensor::full(dtype, {1, 1, 1, 1}, 3)},
         .tolerance = 0,
         .gradient = false});
  }
  cases.push_back({.name = "gradient_max_pool_ties",
                   .build = [](auto& x) { return gradients({max_pool(x[0])}, {x[0]}); },
                   .inputs = {Tensor::of<float>({1, 2, 4, 1}, {1, 3, 0, 0, 3, 3, 0, 0})},
                   .expected = {Tensor::of<float>({1, 2, 4, 1}, {0, 1, 1, 0, 0, 0, 0, 0})},
                   .gradient = false});
}

}  // namespace

std::vector<OpCase> pooling_op_cases() {
  std::vector<OpCase> cases;
  add_pools(cases);
  add_edges(cases);
  return cases;
}

}  // namespace systole::graph_testing
