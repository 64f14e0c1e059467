#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "systole/graph/api/math_ops.h"
#include "systole/graph/testing/math_op_cases.h"
#include "systole/graph/testing/scalar_reference.h"

namespace systole::graph_testing {
namespace {

using Function = Output (*)(const Input&, const ReduceOptions&);
using Group = std::span<const double>;
using GroupFn = double (*)(Group);

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double sum_of(Group g) { return std::accumulate(g.begin(), g.end(), 0.0); }
double product_of(Group g) { return std::accumulate(g.begin(), g.end(), 1.0, std::multiplies<>()); }
double mean_of(Group g) { return sum_of(g) / static_cast<double>(g.size()); }
double largest_of(Group g) { return g.empty() ? -kInf : *std::ranges::max_element(g); }
double smallest_of(Group g) { return g.empty() ? kInf : *std::ranges::min_element(g); }
double logsumexp_of(Group g) {
  double sum = 0;
  for (const double x : g) sum += std::exp(x);
  return std::log(sum);
}
double variance_of(Group g) {
  double sum = 0;
  for (const double x : g) sum += (x - mean_of(g)) * (x - mean_of(g));
  return sum / static_cast<double>(g.size());
}
double deviation_of(Group g) { return std::sqrt(variance_of(g)); }
double any_of(Group g) { return std::ranges::count(g, 0.0) < std::ssize(g) ? 1 : 0; }
double all_of(Group g) { return std::ranges::count(g, 0.0) == 0 ? 1 : 0; }

struct Row {
  std::string name;
  Function op;
  GroupFn scalar;
  bool integer = false;
};
const Row kRows[] = {
    {"reduce_sum", reduce_sum, sum_of, true},
    {"reduce_mean", reduce_mean, mean_of},
    {"reduce_prod", reduce_prod, product_of, true},
    {"reduce_max", reduce_max, largest_of, true},
    {"reduce_min", reduce_min, smallest_of, true},
    {"reduce_logsumexp", reduce_logsumexp, logsumexp_of},
    {"reduce_std", reduce_std, deviation_of},
    {"reduce_variance", reduce_variance, variance_of},
};

struct Layout {
  std::string name;
  Shape shape;
  Axes axes;
  std::vector<int64_t> removed;  // axes, normalised
  bool keepdims = false;
};
const Layout kLayouts[] = {
    {"all", {2, 3, 4}, {}, {0, 1, 2}},
    {"all_kept", {2, 3}, {}, {0, 1}, true},
    {"first", {3, 4}, 0, {0}},
    {"last", {2, 3, 4}, -1, {2}},
    {"middle_kept", {2, 3, 4}, 1, {1}, true},
    {"list", {2, 3, 4}, {2, 0}, {0, 2}},
    {"list_kept", {2, 3, 4}, {0, -1}, {0, 2}, true},
    {"none", {2, 3}, std::vector<int64_t>(), {}},
    {"scalar", {}, {}, {}},
    {"odd_first", {19, 5}, 0, {0}},
    {"odd_last", {3, 37}, 1, {1}},
};

OpCase reduction_case(const Row& row, const Layout& layout) {
  return {.name = fmt::format("{}_{}", row.name, layout.name),
          .build =
              [op = row.op, layout](const auto& x) {
                return op(x[0], {.axis = layout.axes, .keepdims = layout.keepdims});
              },
          .inputs = {random_tensor(layout.shape, -2, 2, DType::f64)},
          .compute =
              [f = row.scalar, layout](const auto& in) {
                return std::vector{
                    map_groups(in[0], layout.removed, layout.keepdims, in[0].dtype(), f)};
              },
          .tolerance = 1e-14,
          .dtypes = {DType::f32, DType::bf16, DType::f16},
          .ulps = 32,
          // The root of a variance of 0 has no derivative.
          .gradient = (row.name != "reduce_std" || !layout.removed.empty()) &&
                      !layout.name.starts_with("odd"),
          .gradient_tolerance = 1e-5};
}

void add_reductions(std::vector<OpCase>& cases) {
  for (const Row& row : kRows) {
    for (const Layout& layout : kLayouts) {
      cases.push_back(reduction_case(row, layout));
      cases.back().second_order = layout.name == "last";
    }
    for (int i = 0; i < kNumDTypes && row.integer; ++i) {
      const auto dtype = static_cast<DType>(i);
      if (!dtype_info(dtype).integer || dtype_info(dtype).bits < 8) continue;
      OpCase integers = reduction_case(row, kLayouts[2]);
      integers.name = fmt::format("{}_{}", row.name, dtype);
      integers.inputs = {random_tensor({3, 4}, dtype_info(dtype).is_signed ? -4 : 0, 4, dtype)};
      integers.gradient = false;
      cases.push_back(std::move(integers));
    }
  }
  for (const auto& [name, op, scalar] :
       {std::tuple<std::string, Function, GroupFn>{"reduce_any", reduce_any, any_of},
        {"reduce_all", reduce_all, all_of}}) {
    for (const Layout& layout : kLayouts) {
      OpCase logic = reduction_case({name, op, scalar}, layout);
      logic.inputs = {random_tensor(layout.shape, 0, 3, DType::s32).cast(DType::pred)};
      logic.gradient = false;
      cases.push_back(std::move(logic));
    }
  }
}

void add_edges(std::vector<OpCase>& cases) {
  const auto add = [&](std::string name, Function op, const Tensor& x, const Tensor& expected) {
    cases.push_back({.name = std::move(name),
                     .build = [op](const auto& in) { return op(in[0], {.axis = -1}); },
                     .inputs = {x},
                     .expected = {expected},
                     .gradient = false});
  };
  const Tensor empty(DType::f32, {2, 0});
  const auto two = [](float x) { return Tensor::of<float>({2}, {x, x}); };
  const auto inf = static_cast<float>(kInf);
  const auto nan = static_cast<float>(kNan);
  add("reduce_sum_empty", reduce_sum, empty, two(0));
  add("reduce_prod_empty", reduce_prod, empty, two(1));
  add("reduce_mean_empty", reduce_mean, empty, two(nan));
  add("reduce_max_empty", reduce_max, empty, two(-inf));
  add("reduce_min_empty", reduce_min, empty, two(inf));
  add("reduce_max_nan", reduce_max, Tensor::of<float>({3}, {1, nan, 2}), Tensor(nan));
  add("reduce_mean_s32", reduce_mean, Tensor::of<int32_t>({2, 2}, {3, 4, -3, -4}),
      Tensor::of<int32_t>({2}, {3, -3}));
  add("reduce_mean_u8", reduce_mean, Tensor::of<uint8_t>({3}, {250, 251, 252}),
      Tensor::of<uint8_t>({}, {251}));
  add("reduce_logsumexp_large", reduce_logsumexp, Tensor::of<float>({2}, {1000, 1000}),
      Tensor(1000.6931472f));
  add("reduce_logsumexp_infinite", reduce_logsumexp,
      Tensor::of<float>({2, 2}, {-inf, -inf, inf, 0}), Tensor::of<float>({2}, {-inf, inf}));
  // 4096 terms of 1 would stop at 256 in bf16 and at 2048 in f16.
  for (const DType dtype : {DType::bf16, DType::f16}) {
    add(fmt::format("reduce_sum_many_{}", dtype), reduce_sum, Tensor::full(dtype, {4096}, 1),
        Tensor::full(dtype, {}, 4096));
    add(fmt::format("reduce_mean_many_{}", dtype), reduce_mean, Tensor::full(dtype, {4096}, 3),
        Tensor::full(dtype, {}, 3));
  }
}

// The index of the first element that no other beats.
double first_best(Group g, bool largest) {
  size_t best = 0;
  for (size_t i = 1; i < g.size(); ++i) {
    if (std::isnan(g[best])) break;
    if (std::isnan(g[i]) || (largest ? g[i] > g[best] : g[i] < g[best])) best = i;
  }
  return static_cast<double>(best);
}

void add_arg_cases(std::vector<OpCase>& cases) {
  const auto add = [&](const std::string& name, const Tensor& x, int64_t axis,
                       DType index = DType::s64) {
    for (const bool largest : {true, false}) {
      const ArgOptions options{.axis = axis, .output_type = index};
      cases.push_back({.name = (largest ? "argmax_" : "argmin_") + name,
                       .build =
                           [=](const auto& in) {
                             return largest ? argmax(in[0], options) : argmin(in[0], options);
                           },
                       .inputs = {x},
                       .compute =
                           [=](const auto& in) {
                             const int64_t removed = axis < 0 ? axis + in[0].rank() : axis;
                             return std::vector{
                                 map_groups(in[0], {removed}, false, index,
                                            [=](Group g) { return first_best(g, largest); })};
                           },
                       .gradient = false});
    }
  };
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    const DTypeInfo& info = dtype_info(dtype);
    if ((!info.integer && !info.floating) || info.bits < 8 || is_small_float(dtype)) continue;
    const double low = info.integer && !info.is_signed ? 0 : -3;
    // Small integers: many tie.
    add(fmt::format("{}", dtype), random_tensor({3, 7}, low, 3, DType::s32).cast(dtype), 1);
  }
  add("first_axis", random_tensor({5, 3}), 0);
  add("middle_axis", random_tensor({2, 5, 3}), -2, DType::s32);
  const auto inf = static_cast<float>(kInf);
  const auto nan = static_cast<float>(kNan);
  add("special",
      Tensor::of<float>({4, 3}, {-inf, -inf, -inf, inf, inf, inf, 1, nan, nan, nan, inf, -inf}), 1);
}

void add_cumsum(std::vector<OpCase>& cases) {
  for (const bool exclusive : {false, true}) {
    for (const bool reverse : {false, true}) {
      for (const int64_t axis : {0, -1}) {
        const BuildFn build = [=](const auto& x) {
          return cumsum(x[0], {.axis = axis, .exclusive = exclusive, .reverse = reverse});
        };
        const auto compute = [=](const auto& in) {
          const Tensor& x = in[0];
          const int64_t rows = x.dim(0);
          const int64_t columns = x.dim(1);
          Tensor result(DType::f64, x.shape());
          for (int64_t r = 0; r < rows; ++r) {
            for (int64_t c = 0; c < columns; ++c) {
              const int64_t at = axis == 0 ? r : c;
              const int64_t size = axis == 0 ? rows : columns;
              double sum = 0;
              for (int64_t k = 0; k < size; ++k) {
                const bool before = reverse ? k > at : k < at;
                if (before || (k == at && !exclusive))
                  sum += x.as_double(axis == 0 ? k * columns + c : r * columns + k);
              }
              result.data<double>()[r * columns + c] = sum;
            }
          }
          return std::vector{result.cast(x.dtype())};
        };
        OpCase row{.name = fmt::format("cumsum{}{}_axis{}", exclusive ? "_exclusive" : "",
                                       reverse ? "_reverse" : "", axis == 0 ? "0" : "_last"),
                   .build = build,
                   .inputs = {random_tensor({5, 6}, -1, 1, DType::f64)},
                   .compute = compute,
                   .tolerance = 1e-14,
                   .dtypes = {DType::f32, DType::bf16, DType::f16}};
        cases.push_back(row);
        row.name += "_s32";
        row.inputs = {random_tensor({5, 6}, -9, 9, DType::s32)};
        row.dtypes = {};
        row.gradient = false;
        cases.push_back(row);
      }
    }
  }
}

double norm_of(Group g) {
  double sum = 0;
  for (const double x : g) sum += x * x;
  return std::sqrt(sum);
}

// x scaled by a factor of its norm.
std::vector<Tensor> scaled(const Tensor& x, double factor) {
  const std::vector<Tensor> xs{x};
  return {map_elements(xs, x.dtype(), [factor](auto v) { return v[0] * factor; })};
}

double norm_of(const Tensor& x) {
  std::vector<double> elements;
  for (int64_t i = 0; i < x.num_elements(); ++i) elements.push_back(x.as_double(i));
  return norm_of(elements);
}

void add_norms(std::vector<OpCase>& cases) {
  cases.push_back({.name = "l2_loss",
                   .build = [](const auto& x) { return l2_loss(x[0]); },
                   .inputs = {random_tensor({3, 4}, -1, 1, DType::f64)},
                   .compute =
                       [](const auto& in) {
                         return std::vector{
                             map_groups(in[0], {0, 1}, false, DType::f64,
                                        [](Group g) { return norm_of(g) * norm_of(g) / 2; })};
                       },
                   .tolerance = 1e-14,
                   .dtypes = {DType::f32, DType::bf16, DType::f16},
                   .second_order = true});
  cases.push_back(
      {.name = "global_norm",
       .build =
           [](const auto& x) {
             return global_norm({x[0], Output(), x[1]});
           },
       .inputs = {random_tensor({3, 4}, -1, 1, DType::f64), random_tensor({5}, -1, 1, DType::f64)},
       .compute =
           [](const auto& in) {
             return std::vector{Tensor(std::hypot(norm_of(in[0]), norm_of(in[1])))};
           },
       .tolerance = 1e-14});
  for (const double limit : {0.5, 100.0}) {
    const std::string suffix = limit < 1 ? "long" : "short";
    cases.push_back(
        {.name = "clip_by_global_norm_" + suffix,
         .build =
             [limit](const auto& x) {
               auto [clipped, norm] = clip_by_global_norm({x[0], x[1]}, limit);
               clipped.push_back(norm);
               return Outputs(clipped);
             },
         .inputs = {random_tensor({3, 4}, -1, 1, DType::f64),
                    random_tensor({5}, -1, 1, DType::f64)},
         .compute =
             [limit](const auto& in) {
               const double norm = std::hypot(norm_of(in[0]), norm_of(in[1]));
               const double factor = limit / std::max(norm, limit);
               return std::vector{scaled(in[0], factor)[0], scaled(in[1], factor)[0], Tensor(norm)};
             },
         .tolerance = 1e-14});
    cases.push_back({.name = "clip_by_norm_" + suffix,
                     .build = [limit](const auto& x) { return clip_by_norm(x[0], limit); },
                     .inputs = {random_tensor({3, 4}, -1, 1, DType::f64)},
                     .compute =
                         [limit](const auto& in) {
                           return scaled(in[0], limit / std::max(limit, norm_of(in[0])));
                         },
                     .tolerance = 1e-14,
                     .dtypes = {DType::f32}});
    cases.push_back(
        {.name = "clip_by_average_norm_" + suffix,
         .build = [limit](const auto& x) { return clip_by_average_norm(x[0], limit / 20); },
         .inputs = {random_tensor({3, 4}, -1, 1, DType::f64)},
         .compute =
             [limit](const auto& in) {
               return scaled(in[0], std::min(1.0, limit / 20 / (norm_of(in[0]) / 12)));
             },
         .tolerance = 1e-13});
  }
  cases.push_back({.name = "clip_by_norm_axes",
                   .build = [](const auto& x) { return clip_by_norm(x[0], 2.0, {.axes = 1}); },
                   .inputs = {Tensor::of<float>({3, 2}, {3, 4, 0, 0, 0.6F, 0.8F})},
                   .expected = {Tensor::of<float>({3, 2}, {1.2F, 1.6F, 0, 0, 0.6F, 0.8F})},
                   .gradient = false});
  const auto inf = static_cast<float>(kInf);
  const auto nan = static_cast<float>(kNan);
  cases.push_back({.name = "clip_by_global_norm_infinite",
                   .build = [](const auto& x) { return clip_by_global_norm({x[0]}, 1.0).first; },
                   .inputs = {Tensor::of<float>({2}, {1, inf})},
                   .expected = {Tensor::of<float>({2}, {nan, nan})},
                   .gradient = false});
}

}  // namespace

std::vector<OpCase> reduction_op_cases() {
  std::vector<OpCase> cases;
  add_reductions(cases);
  add_edges(cases);
  add_arg_cases(cases);
  add_cumsum(cases);
  add_norms(cases);
  return with_squares(std::move(cases));
}

}  // namespace systole::graph_testing
