#include <cmath>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/graph/testing/nn_op_cases.h"
#include "systole/graph/testing/scalar_reference.h"

namespace systole::graph_testing {
namespace {

using Group = std::span<const double>;

double mean_of(Group g) {
  double sum = 0;
  for (const double x : g) sum += x;
  return sum / static_cast<double>(g.size());
}

double variance_of(Group g) {
  double sum = 0;
  for (const double x : g) sum += (x - mean_of(g)) * (x - mean_of(g));
  return sum / static_cast<double>(g.size());
}

void add_moments(std::vector<OpCase>& cases) {
  const auto add = [&](const std::string& name, const Shape& in, const Axes& axes,
                       const std::vector<int64_t>& removed, bool keep_dims) {
    cases.push_back({.name = "moments_" + name,
                     .build =
                         [=](auto& x) {
                           const Moments m = moments(x[0], axes, {.keep_dims = keep_dims});
                           return Outputs{m.mean, m.variance};
                         },
                     .inputs = {random_tensor(in, -1, 1, DType::f64)},
                     .compute =
                         [=](const auto& x) {
                           const auto of = [&](double (*f)(Group)) {
                             return map_groups(x[0], removed, keep_dims, x[0].dtype(), f);
                           };
                           return std::vector{of(mean_of), of(variance_of)};
                         },
                     .tolerance = 1e-14,
                     .dtypes = {DType::f32, DType::bf16, DType::f16}});
  };
  add("all", {3, 4}, {}, {0, 1}, false);
  add("batch", {5, 3}, 0, {0}, false);
  add("last_kept", {2, 4}, -1, {1}, true);
  add("image", {2, 3, 2, 2}, {0, 1, 2}, {0, 1, 2}, false);
  // Squares of 16-bit numbers near 300 are far apart.
  cases.push_back({.name = "moments_large_mean",
                   .build = [](auto& x) { return moments(x[0], {}).variance; },
                   .inputs = {Tensor::of<float>({4}, {252, 254, 256, 258}).cast(DType::bf16)},
                   .expected = {Tensor(5.0F).cast(DType::bf16)},
                   .gradient = false});
}

Tensor positive(const Shape& shape, uint64_t seed) {
  return random_tensor(shape, 0.5, 2, DType::f64, seed);
}

void add_batch_normalization(std::vector<OpCase>& cases) {
  for (const bool scaled : {false, true}) {
    for (const bool shifted : {false, true}) {
      OpCase row{.name = fmt::format("batch_normalization{}{}", scaled ? "_scale" : "",
                                     shifted ? "_offset" : ""),
                 .build =
                     [=](auto& x) {
                       return batch_normalization(x[0], x[1], x[2],
                                                  {.offset = shifted ? x[3] : Output(),
                                                   .scale = scaled ? x[4] : Output(),
                                                   .variance_epsilon = 0.01});
                     },
                 .inputs = {random_tensor({4, 3}, -1, 1, DType::f64),
                            random_tensor({3}, -1, 1, DType::f64), positive({3}, 2),
                            random_tensor({3}, -1, 1, DType::f64, 3), positive({3}, 4)},
                 .compute =
                     [=](const auto& x) {
                       return std::vector{map_elements(x, x[0].dtype(), [=](auto v) {
                         const double y = (v[0] - v[1]) / std::sqrt(v[2] + 0.01);
                         return y * (scaled ? v[4] : 1) + (shifted ? v[3] : 0);
                       })};
                     },
                 .tolerance = 1e-14,
                 .dtypes = {DType::f32},
                 .second_order = true,
                 .known_inputs = {1, 2, 3, 4}};
      if (!shifted) row.no_gradient.push_back(3);
      if (!scaled) row.no_gradient.push_back(4);
      cases.push_back(std::move(row));
    }
  }
}

// Over all axes but that of the channels; the second variance is the one to average.
std::vector<Tensor> batch_norm_by_hand(const Tensor& x, const Tensor& scale, const Tensor& offset,
                                       bool channels_first) {
  const std::vector<int64_t> axes =
      channels_first ? std::vector<int64_t>{0, 2, 3} : std::vector<int64_t>{0, 1, 2};
  const Tensor mean = map_groups(x, axes, false, DType::f64, mean_of);
  const Tensor variance = map_groups(x, axes, false, DType::f64, variance_of);
  const double n = static_cast<double>(x.num_elements()) / static_cast<double>(mean.num_elements());
  const Tensor y = generate(x.shape(), x.dtype(), [&](IndexSpan i) {
    const int64_t c = i[channels_first ? 1 : 3];
    return (element_or_0(x, i) - mean.as_double(c)) / std::sqrt(variance.as_double(c) + 0.001) *
               scale.as_double(c) +
           offset.as_double(c);
  });
  const std::vector<Tensor> variances{variance};
  return {y, mean, map_elements(variances, DType::f64, [n](auto v) { return v[0] * n / (n - 1); })};
}

void add_fused_batch_norm(std::vector<OpCase>& cases) {
  for (const bool channels_first : {false, true}) {
    const std::string data_format = channels_first ? "NCHW" : "NHWC";
    cases.push_back(
        {.name = "fused_batch_norm_" + data_format,
         .build =
             [=](auto& x) {
               const FusedBatchNorm norm =
                   fused_batch_norm(x[0], x[1], x[2], {.data_format = data_format});
               return Outputs{norm.y, norm.batch_mean, norm.batch_variance};
             },
         .inputs = {random_tensor({2, 2, 3, 2}, -1, 1, DType::f64), positive({2}, 2),
                    random_tensor({2}, -1, 1, DType::f64, 3)},
         .compute =
             [=](const auto& x) { return batch_norm_by_hand(x[0], x[1], x[2], channels_first); },
         .tolerance = 1e-13,
         .dtypes = {DType::f32},
         .gradient_tolerance = 1e-5,
         .known_inputs = {1, 2}});
    cases.push_back(
        {.name = "fused_batch_norm_inference_" + data_format,
         .build =
             [=](auto& x) {
               return fused_batch_norm(x[0], x[1], x[2],
                                       {.mean = x[3],
                                        .variance = x[4],
                                        .data_format = data_format,
                                        .is_training = false})
                   .y;
             },
         .inputs = {random_tensor({2, 2, 3, 2}, -1, 1, DType::f64), positive({2}, 2),
                    random_tensor({2}, -1, 1, DType::f64, 3),
                    random_tensor({2}, -1, 1, DType::f64, 4), positive({2}, 5)},
         .compute =
             [=](const auto& x) {
               return std::vector{generate(x[0].shape(), x[0].dtype(), [&](IndexSpan i) {
                 const int64_t c = i[channels_first ? 1 : 3];
                 return (element_or_0(x[0], i) - x[3].as_double(c)) /
                            std::sqrt(x[4].as_double(c) + 0.001) * x[1].as_double(c) +
                        x[2].as_double(c);
               })};
             },
         .tolerance = 1e-13,
         .dtypes = {DType::f32},
         .second_order = true,
         .known_inputs = {1, 2, 3, 4}});
  }
  // A 16-bit image is normalised in f32, by f32 parameters.
  cases.push_back({.name = "fused_batch_norm_bf16",
                   .build =
                       [](auto& x) {
                         const FusedBatchNorm norm =
                             fused_batch_norm(x[0], x[1], Tensor::zeros(DType::f32, {1}));
                         return Outputs{norm.y, norm.batch_mean};
                       },
                   .inputs = {Tensor::of<float>({1, 1, 2, 1}, {254, 258}).cast(DType::bf16),
                              Tensor::of<float>({1}, {2})},
                   .expected = {Tensor::of<float>({1, 1, 2, 1}, {-2, 2}).cast(DType::bf16),
                                Tensor::of<float>({1}, {256})},
                   .tolerance = 1e-2,
                   .gradient = false,
                   .known_inputs = {1}});
}

void add_bias_add(std::vector<OpCase>& cases) {
  const auto add = [&](const std::string& name, const Shape& in, int channels,
                       const std::string& data_format) {
    cases.push_back(
        {.name = "bias_add_" + name,
         .build = [=](auto& x) { return bias_add(x[0], x[1], {.data_format = data_format}); },
         .inputs = {random_tensor(in, -1, 1, DType::f64),
                    random_tensor({in[channels]}, -1, 1, DType::f64, 2)},
         .compute =
             [=](const auto& x) {
               return std::vector{generate(x[0].shape(), x[0].dtype(), [&](IndexSpan i) {
                 return element_or_0(x[0], i) + x[1].as_double(i[channels]);
               })};
             },
         .tolerance = 1e-14,
         .dtypes = {DType::f32, DType::bf16, DType::f16},
         .second_order = true,
         .known_inputs = {1}});
  };
  add("rows", {3, 4}, 1, "NHWC");
  add("image", {2, 2, 2, 3}, 3, "NHWC");
  add("channels_first", {2, 3, 2, 2}, 1, "NCHW");
  cases.push_back(
      {.name = "bias_add_s32",
       .build = [](auto& x) { return bias_add(x[0], x[1]); },
       .inputs = {Tensor::of<int32_t>({2, 2}, {1, 2, 3, 4}), Tensor::of<int32_t>({2}, {10, 20})},
       .expected = {Tensor::of<int32_t>({2, 2}, {11, 22, 13, 24})},
       .gradient = false,
       .known_inputs = {1}});
}

void add_l2_normalize(std::vector<OpCase>& cases) {
  cases.push_back({.name = "l2_normalize",
                   .build = [](auto& x) { return l2_normalize(x[0], 1); },
                   .inputs = {random_tensor({3, 4}, -1, 1, DType::f64)},
                   .compute =
                       [](const auto& x) {
                         const Tensor squares =
                             map_groups(x[0], {1}, true, DType::f64, [](Group g) {
                               double sum = 0;
                               for (const double v : g) sum += v * v;
                               return sum;
                             });
                         const std::vector<Tensor> both{x[0], squares};
                         return std::vector{map_elements(
                             both, x[0].dtype(), [](auto v) { return v[0] / std::sqrt(v[1]); })};
                       },
                   .tolerance = 1e-14,
                   .dtypes = {DType::f32, DType::bf16},
                   .second_order = true});
  cases.push_back({.name = "l2_normalize_0",
                   .build = [](auto& x) { return l2_normalize(x[0], {}); },
                   .inputs = {Tensor::zeros(DType::f32, {3})},
                   .expected = {Tensor::zeros(DType::f32, {3})},
                   .gradient = false});
}

void add_others(std::vector<OpCase>& cases) {
  cases.push_back({.name = "dropout_gradient",
                   .build = [](auto& x) { return dropout(x[0], 0.5, {.seed = 3}); },
                   .inputs = {random_tensor({4, 5}, -1, 1, DType::f64)},
                   .second_order = true});
  cases.push_back({.name = "dropout_keep_prob_gradient",
                   .build = [](auto& x) { return dropout(x[0], x[1], {.seed = 3}); },
                   .inputs = {random_tensor({4, 5}, -1, 1, DType::f64), Tensor(0.7)}});
  cases.push_back({.name = "dropout_all_kept",
                   .build = [](auto& x) { return dropout(x[0], x[1], {.seed = 3}); },
                   .inputs = {Tensor::of<float>({2}, {3, -5}), Tensor(1.0F)},
                   .expected = {Tensor::of<float>({2}, {3, -5})},
                   .tolerance = 0,
                   .gradient = false});
  cases.push_back({.name = "xw_plus_b",
                   .build = [](auto& x) { return xw_plus_b(x[0], x[1], x[2]); },
                   .inputs = {random_tensor({2, 3}, -1, 1, DType::f64, 1),
                              random_tensor({3, 4}, -1, 1, DType::f64, 2),
                              random_tensor({4}, -1, 1, DType::f64, 3)},
                   .reference = [](auto& x) { return matmul(x[0], x[1]) + x[2]; },
                   .tolerance = 1e-14,
                   .second_order = true,
                   .known_inputs = {1, 2}});
  cases.push_back({.name = "embedding_lookup",
                   .build = [](auto& x) { return embedding_lookup(x[0], x[1]); },
                   .inputs = {random_tensor({5, 2}), Tensor::of<int32_t>({2, 2}, {4, 0, 4, 2})},
                   .reference = [](auto& x) { return gather(x[0], x[1]); },
                   .tolerance = 0,
                   .second_order = true});
}

}  // namespace

std::vector<OpCase> normalization_op_cases() {
  std::vector<OpCase> cases;
  add_moments(cases);
  add_batch_normalization(cases);
  add_fused_batch_norm(cases);
  add_bias_add(cases);
  add_l2_normalize(cases);
  add_others(cases);
  return with_squares(std::move(cases));
}

}  // namespace systole::graph_testing
