#include "systole/graph/testing/quantization_op_cases.h"

#include <algorithm>
#include <cmath>

#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/quantization_ops.h"
#include "systole/graph/gradients/gradients.h"

namespace systole::graph_testing {
namespace {

using quantization::FakeQuantOptions;

struct Grid {
  float scale = 0;
  float least = 0;
  float greatest = 0;
};

// The range, moved so that 0 is one of its values.
Grid grid_of(float min, float max, const FakeQuantOptions& options) {
  const float low = options.narrow_range ? 1 : 0;
  const auto high = static_cast<float>((1 << options.num_bits) - 1);
  const float scale = (max - min) / (high - low);
  const float zero = std::clamp(std::round(low - min / scale), low, high);
  return {scale, (low - zero) * scale, (high - zero) * scale};
}

Tensor rounded(const Tensor& x, const Grid& grid) {
  Tensor result = x.clone();
  for (float& value : result.data<float>()) {
    const float clamped = std::clamp(value, grid.least, grid.greatest);
    value = std::floor((clamped - grid.least) / grid.scale + 0.5F) * grid.scale + grid.least;
  }
  return result;
}

OpCase vars_case(std::string name, float min, float max, const FakeQuantOptions& options) {
  return {.name = std::move(name),
          .build =
              [options](auto& x) {
                return quantization::fake_quant_with_min_max_vars(x[0], x[1], x[2], options);
              },
          .inputs = {random_tensor({5, 7}, -3, 3), Tensor(min), Tensor(max)},
          .compute =
              [=](const auto& x) { return std::vector{rounded(x[0], grid_of(min, max, options))}; },
          .gradient = false};
}

// The gradients of the sum of 2 y.
Outputs doubled_gradients(const Output& y, const std::vector<Output>& xs) {
  return gradients(std::vector<Output>{y * 2.0F}, xs);
}

}  // namespace

std::vector<OpCase> quantization_op_cases() {
  const Tensor x({2, 4}, {-9.0F, -0.5F, 0.31F, 0.0F, 7.0F, 5.0F, -6.0F, 6.0F});
  const Tensor min({4}, {-1.0F, -1.0F, 0.0F, -1.0F});
  const Tensor max({4}, {1.0F, 6.0F, 1.0F, 1.0F});
  std::vector<OpCase> cases = {
      {.name = "fake_quant_args",
       .build = [](auto& v) { return quantization::fake_quant_with_min_max_args(v[0]); },
       .inputs = {x},
       .compute = [](const auto& v) { return std::vector{rounded(v[0], grid_of(-6, 6, {}))}; },
       .gradient = false},
      vars_case("fake_quant_vars", -1.3F, 2.1F, {}),
      vars_case("fake_quant_vars_narrow", -1.5F, 1.5F, {.narrow_range = true}),
      vars_case("fake_quant_vars_4_bits", -2, 0.5F, {.num_bits = 4}),
      {.name = "fake_quant_vars_without_range",
       .build =
           [](auto& v) { return quantization::fake_quant_with_min_max_vars(v[0], v[1], v[2]); },
       .inputs = {x, Tensor(0.0F), Tensor(0.0F)},
       .expected = {Tensor::zeros(DType::f32, {2, 4})},
       .gradient = false},
      {.name = "fake_quant_per_channel",
       .build =
           [](auto& v) {
             return quantization::fake_quant_with_min_max_vars_per_channel(v[0], v[1], v[2]);
           },
       .inputs = {x, min, max},
       .compute =
           [](const auto& v) {
             Tensor result = v[0].clone();
             for (size_t i = 0; i < 8; ++i) {
               const Grid grid = grid_of(v[1].template data<float>()[i % 4],
                                         v[2].template data<float>()[i % 4], {});
               const Tensor one = rounded(Tensor(v[0].template data<float>()[i]), grid);
               result.data<float>()[i] = one.template item<float>();
             }
             return std::vector{result};
           },
       .gradient = false,
       .known_inputs = {1, 2}},
      {.name = "fake_quant_args_gradient",
       .build =
           [](auto& v) {
             return doubled_gradients(quantization::fake_quant_with_min_max_args(v[0]), v);
           },
       .inputs = {x},
       .expected = {Tensor({2, 4}, {0.0F, 2.0F, 2.0F, 2.0F, 0.0F, 2.0F, 2.0F, 0.0F})},
       .gradient = false},
      {.name = "fake_quant_vars_gradient",
       .build =
           [](auto& v) {
             return doubled_gradients(quantization::fake_quant_with_min_max_vars(v[0], v[1], v[2]),
                                      v);
           },
       .inputs = {x, Tensor(-5.5F), Tensor(5.5F)},
       .expected = {Tensor({2, 4}, {0.0F, 2.0F, 2.0F, 2.0F, 0.0F, 2.0F, 0.0F, 0.0F}), Tensor(4.0F),
                    Tensor(4.0F)},
       .gradient = false},
      {.name = "fake_quant_per_channel_gradient",
       .build =
           [](auto& v) {
             return doubled_gradients(
                 quantization::fake_quant_with_min_max_vars_per_channel(v[0], v[1], v[2]), v);
           },
       .inputs = {x, min, max},
       .expected = {Tensor({2, 4}, {0.0F, 2.0F, 2.0F, 2.0F, 0.0F, 2.0F, 0.0F, 0.0F}),
                    Tensor({4}, {2.0F, 0.0F, 2.0F, 0.0F}), Tensor({4}, {2.0F, 0.0F, 0.0F, 2.0F})},
       .gradient = false,
       .known_inputs = {1, 2}},
      {.name = "fake_quant_bits",
       .build =
           [](auto& v) {
             return quantization::fake_quant_with_min_max_args(v[0], {.num_bits = 17});
           },
       .inputs = {x},
       .error = "num_bits, got 17, expected in [2, 16]"},
      {.name = "fake_quant_range",
       .build =
           [](auto& v) {
             return quantization::fake_quant_with_min_max_args(v[0], {.min = 1, .max = 1});
           },
       .inputs = {x},
       .error = "min and max, got 1 and 1, expected min < max"},
      {.name = "fake_quant_shape",
       .build =
           [](auto& v) {
             return quantization::fake_quant_with_min_max_vars_per_channel(v[0], v[1], v[1]);
           },
       .inputs = {x, Tensor({3}, {0.0F, 0.0F, 0.0F})},
       .error = "min, got f32[3], expected f32[4]"}};
  return cases;
}

}  // namespace systole::graph_testing
