#include <cmath>
#include <limits>
#include <numbers>

#include "systole/graph/api/math_ops.h"
#include "systole/graph/testing/math_op_cases.h"
#include "systole/graph/testing/scalar_reference.h"

namespace systole::graph_testing {
namespace {

using Function = Output (*)(const Input&, const NameOptions&);
using Scalar = double (*)(double);

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// One function: its formula, the range of its random arguments, and arguments that deserve a look
// of their own.
struct Row {
  std::string name;
  Function op;
  Scalar scalar;
  double low = -3;
  double high = 3;
  std::vector<double> special = {};
  bool has_gradient = true;
  double ulps = 4;
};

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }
double sign_of(double x) { return std::isnan(x) || x == 0 ? x : std::copysign(1, x); }
double relu_of(double x) { return std::isnan(x) ? x : std::max(x, 0.0); }
double relu6_of(double x) { return std::isnan(x) ? x : std::clamp(x, 0.0, 6.0); }
double elu_of(double x) { return x > 0 ? x : std::expm1(x); }
double selu_of(double x) {
  return 1.0507009873554804934 * (x > 0 ? x : 1.6732632423543772848 * std::expm1(x));
}
double softplus_of(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double gelu_of(double x) { return x / 2 * std::erfc(-x / std::numbers::sqrt2); }
double tanh_gelu_of(double x) {
  return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

std::vector<Row> rows() {
  return {
      {"exp",
       exp,
       [](double x) { return std::exp(x); },
       -3,
       3,
       {-1000, 1000, -kInf, kInf, kNan, 0}},
      {"expm1", expm1, [](double x) { return std::expm1(x); }, -3, 3, {1e-12, -1e-12, -1000, 1000}},
      {"log", log, [](double x) { return std::log(x); }, 0.1, 9, {0, -1, kInf, 1}},
      {"log1p", log1p, [](double x) { return std::log1p(x); }, -0.9, 9, {1e-12, -1e-12, -1, kInf}},
      {"sqrt", sqrt, [](double x) { return std::sqrt(x); }, 0.1, 9, {0, -1, kInf}},
      {"rsqrt", rsqrt, [](double x) { return 1 / std::sqrt(x); }, 0.1, 9, {0, -1, kInf}},
      {"reciprocal", reciprocal, [](double x) { return 1 / x; }, 0.5, 9, {0, kInf, -kInf}},
      {"square", square, [](double x) { return x * x; }, -3, 3, {kInf, 0}},
      {"sin", sin, [](double x) { return std::sin(x); }, -3, 3, {0, 1000, kInf}},
      {"cos", cos, [](double x) { return std::cos(x); }, -3, 3, {0, 1000, kInf}},
      {"tan", tan, [](double x) { return std::tan(x); }, -1.4, 1.4, {0}, true, 16},
      {"tanh", tanh, [](double x) { return std::tanh(x); }, -3, 3, {-1000, 1000, 1e-12}},
      {"sigmoid", sigmoid, sigmoid_of, -5, 5, {-1000, 1000, kNan}},
      {"erf",
       erf,
       [](double x) { return std::erf(x); },
       -5,
       5,
       {0, 1, -1, 1e-12, -7, 100, -kInf, kNan}},
      {"floor", floor, [](double x) { return std::floor(x); }, -9, 9, {2, -2, kInf}, false},
      {"ceil", ceil, [](double x) { return std::ceil(x); }, -9, 9, {2, -2, -kInf}, false},
      {"round",
       round,
       [](double x) { return std::nearbyint(x); },
       -9,
       9,
       {0.5, 1.5, 2.5, -0.5, -1.5},
       false},
      {"negative", negative, [](double x) { return -x; }, -3, 3, {0, kInf}},
      {"abs", abs, [](double x) { return std::abs(x); }, -3, 3, {0, -0.0, -kInf}},
      {"sign", sign, sign_of, -3, 3, {0, -0.0, kNan, -kInf}},
      {"relu", relu, relu_of, -3, 3, {0, -0.0, kNan, kInf}},
      {"relu6", relu6, relu6_of, -9, 9, {0, 6, kNan, kInf}},
      {"elu", elu, elu_of, -3, 3, {0, -1000, 1000}},
      {"selu", selu, selu_of, -3, 3, {0, -1000, 1000}},
      {"softplus", softplus, softplus_of, -5, 5, {-1000, 1000, -50, 50}},
      {"softsign", softsign, [](double x) { return x / (1 + std::abs(x)); }, -3, 3, {0, -1000}},
      {"leaky_relu", [](const Input& x, const NameOptions&) { return leaky_relu(x); },
       [](double x) { return x > 0 ? x : 0.2 * x; }},
      {"leaky_relu_alpha",
       [](const Input& x, const NameOptions&) { return leaky_relu(x, {.alpha = 1.5}); },
       [](double x) { return x > 0 ? x : 1.5 * x; }},
      {"gelu",
       [](const Input& x, const NameOptions&) { return gelu(x); },
       gelu_of,
       -4,
       4,
       {0, 40, -40},
       true,
       12},
      {"gelu_approximate",
       [](const Input& x, const NameOptions&) { return gelu(x, {.approximate = true}); },
       tanh_gelu_of,
       -4,
       4,
       {0, 40, -40},
       true,
       16},
  };
}

OpCase random_case(const Row& row, uint64_t seed) {
  return {.name = row.name,
          .build = [op = row.op](const auto& x) { return op(x[0], {}); },
          .inputs = {random_tensor(random_shape(seed), row.low, row.high, DType::f64)},
          .compute =
              [f = row.scalar](const auto& x) {
                return std::vector{map_elements(x, DType::f64, [f](auto v) { return f(v[0]); })};
              },
          .tolerance = 4e-15,
          .dtypes = {DType::f32, DType::bf16, DType::f16},
          .ulps = row.ulps,
          .gradient = row.has_gradient,
          .second_order = row.has_gradient};
}

OpCase special_case(const Row& row) {
  OpCase result = random_case(row, 0);
  result.name += "_special";
  result.inputs = {Tensor::of<double>({static_cast<int64_t>(row.special.size())}, row.special)};
  result.dtypes = {DType::f32};
  result.gradient = result.second_order = false;
  return result;
}

// A function whose values are integers, on all integers that it takes.
void add_integer_cases(std::vector<OpCase>& cases, const std::string& name, Function op,
                       Scalar scalar, bool unsigned_too) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    const DTypeInfo& info = dtype_info(dtype);
    if (!info.integer || info.bits < 8 || (!info.is_signed && !unsigned_too)) continue;
    cases.push_back({.name = fmt::format("{}_{}", name, dtype),
                     .build = [op](const auto& x) { return op(x[0], {}); },
                     .inputs = {random_tensor({4, 3}, info.is_signed ? -11 : 0, 11, dtype)},
                     .compute =
                         [scalar, dtype](const auto& x) {
                           return std::vector{
                               map_elements(x, dtype, [scalar](auto v) { return scalar(v[0]); })};
                         },
                     .gradient = false});
  }
}

void add_test_cases(std::vector<OpCase>& cases) {
  const std::vector<std::pair<std::string, std::pair<Function, Scalar>>> tests = {
      {"is_finite", {is_finite, [](double x) { return std::isfinite(x) ? 1.0 : 0.0; }}},
      {"is_nan", {is_nan, [](double x) { return std::isnan(x) ? 1.0 : 0.0; }}},
      {"is_inf", {is_inf, [](double x) { return std::isinf(x) ? 1.0 : 0.0; }}},
  };
  for (const auto& [name, functions] : tests) {
    for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
      cases.push_back(
          {.name = fmt::format("{}_{}", name, dtype),
           .build = [op = functions.first](const auto& x) { return op(x[0], {}); },
           .inputs = {Tensor::of<double>({5}, {0, -1.5, kInf, -kInf, kNan}).cast(dtype)},
           .compute =
               [f = functions.second](const auto& x) {
                 return std::vector{map_elements(x, DType::pred, [f](auto v) { return f(v[0]); })};
               },
           .gradient = false});
    }
  }
}

// From every dtype to every dtype; values that all of them hold, and some that they do not.
void add_cast_cases(std::vector<OpCase>& cases) {
  const std::vector<DType> dtypes = {DType::pred, DType::s8,   DType::s16, DType::s32, DType::s64,
                                     DType::u8,   DType::u16,  DType::u32, DType::u64, DType::f16,
                                     DType::f32,  DType::bf16, DType::f64};
  for (const DType from : dtypes) {
    for (const DType to : dtypes) {
      const Tensor x = Tensor::of<double>({2, 3}, {0, 1, 2.75, -3.25, 100, 300}).cast(from);
      cases.push_back({.name = fmt::format("cast_{}_to_{}", from, to),
                       .build = [to](const auto& in) { return cast(in[0], to); },
                       .inputs = {x},
                       .expected = {x.cast(to)},
                       .tolerance = 0,
                       .gradient = false});
    }
  }
  cases.push_back(
      {.name = "cast_gradient",
       .build = [](const auto& x) { return cast(cast(x[0], DType::f32), DType::f64) * 2.0; },
       .inputs = {random_tensor({2, 2}, -1, 1, DType::f64)},
       .step = 1e-2,
       .gradient_tolerance = 1e-4});
  using Conversion = Function;
  const std::vector<std::pair<Conversion, DType>> conversions = {{to_float, DType::f32},
                                                                 {to_double, DType::f64},
                                                                 {to_bfloat16, DType::bf16},
                                                                 {to_int32, DType::s32},
                                                                 {to_int64, DType::s64}};
  for (const auto& [op, dtype] : conversions) {
    const Tensor x = Tensor::of<uint8_t>({3}, {0, 7, 250});
    cases.push_back({.name = fmt::format("to_{}", dtype),
                     .build = [op = op](const auto& in) { return op(in[0], {}); },
                     .inputs = {x},
                     .expected = {x.cast(dtype)},
                     .gradient = false});
  }
}

}  // namespace

std::vector<OpCase> unary_op_cases() {
  std::vector<OpCase> cases;
  for (const Row& row : rows()) {
    cases.push_back(random_case(row, cases.size()));
    // The gradient of a step function is nothing, and so is its square's.
    if (std::string_view(row.name) == "sign") cases.back().second_order = false;
    if (!row.special.empty()) cases.push_back(special_case(row));
  }
  add_integer_cases(
      cases, "negative", negative, [](double x) { return -x; }, false);
  add_integer_cases(
      cases, "abs", abs, [](double x) { return std::abs(x); }, false);
  add_integer_cases(cases, "sign", sign, sign_of, false);
  add_integer_cases(
      cases, "square", square, [](double x) { return x * x; }, true);
  add_integer_cases(
      cases, "round", round, [](double x) { return x; }, true);
  add_integer_cases(cases, "relu", relu, relu_of, true);
  add_integer_cases(cases, "relu6", relu6, relu6_of, true);
  add_test_cases(cases);
  add_cast_cases(cases);
  return with_squares(std::move(cases));
}

}  // namespace systole::graph_testing
