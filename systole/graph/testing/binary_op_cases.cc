#include <cmath>
#include <limits>

#include "systole/graph/api/math_ops.h"
#include "systole/graph/testing/math_op_cases.h"
#include "systole/graph/testing/scalar_reference.h"

namespace systole::graph_testing {
namespace {

using Function = Output (*)(const Input&, const Input&, const NameOptions&);
using Scalar = double (*)(double, double);

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double floormod_of(double x, double y) {
  const double remainder = std::fmod(x, y);
  return remainder != 0 && (remainder < 0) != (y < 0) ? remainder + y : remainder;
}
double maximum_of(double x, double y) {
  return std::isnan(x) || std::isnan(y) ? kNan : std::max(x, y);
}
double minimum_of(double x, double y) {
  return std::isnan(x) || std::isnan(y) ? kNan : std::min(x, y);
}

struct Row {
  std::string name;
  Function op;
  Scalar scalar;
  bool floating = true;
  bool integer = true;
  bool has_gradient = true;
  // Random operands: x in [low, high), y in [y_low, y_high).
  double low = -3, high = 3;
  double y_low = -3, y_high = 3;
};

std::vector<Row> rows() {
  const bool yes = true;
  const bool no = false;
  return {
      {"add", add, [](double x, double y) { return x + y; }},
      {"subtract", subtract, [](double x, double y) { return x - y; }},
      {"multiply", multiply, [](double x, double y) { return x * y; }},
      {"realdiv", realdiv, [](double x, double y) { return x / y; }, yes, no, yes, -3, 3, 0.5, 3},
      {"truediv", truediv, [](double x, double y) { return x / y; }, yes, no, yes, -3, 3, 0.5, 3},
      {"divide", divide, [](double x, double y) { return x / y; }, yes, no, yes, -3, 3, -3, -0.5},
      {"floordiv", floordiv, [](double x, double y) { return std::floor(x / y); }, yes, yes, no,
       -30, 30, 1, 7},
      {"floordiv_negative", floordiv, [](double x, double y) { return std::floor(x / y); }, yes, no,
       no, -30, 30, -7, -1},
      {"floormod", floormod, floormod_of, yes, yes, yes, -30, 30, 1, 7},
      {"floormod_negative", floormod, floormod_of, yes, no, yes, -30, 30, -7, -1},
      {"mod", mod, floormod_of, yes, yes, yes, -30, 30, 1, 7},
      {"truncatediv", truncatediv, [](double x, double y) { return std::trunc(x / y); }, no, yes,
       no, -30, 30, 1, 7},
      {"truncatemod", truncatemod, [](double x, double y) { return std::fmod(x, y); }, yes, yes, no,
       -30, 30, 1, 7},
      {"pow", pow, [](double x, double y) { return std::pow(x, y); }, yes, no, yes, 0.2, 3, -3, 3},
      {"pow_integers", pow, [](double x, double y) { return std::pow(x, y); }, no, yes, no, -4, 4,
       0, 4},
      {"squared_difference", squared_difference,
       [](double x, double y) { return (x - y) * (x - y); }},
      {"maximum", maximum, maximum_of},
      {"minimum", minimum, minimum_of},
  };
}

std::vector<Tensor> compute(Scalar scalar, DType dtype, const std::vector<Tensor>& inputs) {
  return {map_elements(inputs, dtype, [scalar](auto v) { return scalar(v[0], v[1]); })};
}

OpCase floating_case(const Row& row, const Shape& x, const Shape& y, std::string_view suffix) {
  return {.name = fmt::format("{}_{}", row.name, suffix),
          .build = [op = row.op](const auto& in) { return op(in[0], in[1], {}); },
          .inputs = {random_tensor(x, row.low, row.high, DType::f64, 3),
                     random_tensor(y, row.y_low, row.y_high, DType::f64, 4)},
          .compute = [f = row.scalar](const auto& in) { return compute(f, DType::f64, in); },
          .tolerance = 4e-15,
          .gradient = row.has_gradient,
          .gradient_tolerance = 1e-5};
}

// Operands of one shape in all floating dtypes, and every way to broadcast.
void add_floating_cases(std::vector<OpCase>& cases, const Row& row) {
  const Shape same = random_shape(cases.size());
  cases.push_back(floating_case(row, same, same, "same"));
  cases.back().second_order = row.has_gradient;
  // A quotient near an integer may round over it.
  const bool jumps =
      row.name.starts_with("floor") || row.name == "mod" || row.name == "truncatemod";
  if (!jumps) cases.back().dtypes = {DType::f32, DType::bf16, DType::f16};
  cases.push_back(floating_case(row, {2, 3}, {}, "scalar"));
  cases.push_back(floating_case(row, {}, {3}, "scalar_first"));
  cases.push_back(floating_case(row, {2, 3}, {3}, "row"));
  cases.push_back(floating_case(row, {2, 1}, {1, 3}, "outer"));
  cases.push_back(floating_case(row, {4}, {2, 1, 4}, "rank"));
  cases.push_back(floating_case(row, {0, 3}, {1, 3}, "empty"));
}

void add_integer_cases(std::vector<OpCase>& cases, const Row& row) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    const DTypeInfo& info = dtype_info(dtype);
    if (!info.integer || info.bits < 8) continue;
    OpCase result = floating_case(row, {4, 3}, {3}, to_string(dtype));
    const double low = info.is_signed ? row.low : 0;
    result.inputs = {random_tensor({4, 3}, low, row.high, dtype, 3),
                     random_tensor({3}, info.is_signed ? row.y_low : std::max(row.y_low, 0.0),
                                   row.y_high, dtype, 4)};
    if (row.name == "subtract" && !info.is_signed) {  // no result below 0
      result.inputs[0] = random_tensor({4, 3}, 5, 9, dtype, 3);
    }
    result.compute = [f = row.scalar, dtype](const auto& in) { return compute(f, dtype, in); };
    result.gradient = result.second_order = false;
    cases.push_back(std::move(result));
  }
}

// All signs of dividend and divisor.
void add_division_cases(std::vector<OpCase>& cases) {
  const Tensor x = Tensor::of<int32_t>({6, 1}, {-7, -6, -1, 0, 6, 7});
  const Tensor y = Tensor::of<int32_t>({1, 4}, {-3, -1, 1, 3});
  const std::vector<std::pair<Function, Scalar>> functions = {
      {floordiv, [](double a, double b) { return std::floor(a / b); }},
      {floormod, floormod_of},
      {truncatediv, [](double a, double b) { return std::trunc(a / b); }},
      {truncatemod, [](double a, double b) { return std::fmod(a, b); }}};
  int index = 0;
  for (const auto& [op, scalar] : functions) {
    cases.push_back(
        {.name = fmt::format("division_signs_{}", index++),
         .build = [op = op](const auto& in) { return op(in[0], in[1], {}); },
         .inputs = {x, y},
         .compute = [scalar = scalar](const auto& in) { return compute(scalar, DType::s32, in); },
         .gradient = false});
  }
  const auto truediv_case = [&](const Tensor& dividend, DType quotient) {
    cases.push_back({.name = fmt::format("truediv_{}", dividend.dtype()),
                     .build = [](const auto& in) { return in[0] / in[1]; },
                     .inputs = {dividend, Tensor::full(dividend.dtype(), {}, 4)},
                     .compute =
                         [quotient](const auto& in) {
                           return compute([](double a, double b) { return a / b; }, quotient, in);
                         },
                     .gradient = false});
  };
  for (const DType dtype : {DType::s8, DType::u8, DType::s16, DType::u16}) {
    truediv_case(Tensor::of<int32_t>({2}, {7, 101}).cast(dtype), DType::f32);
  }
  for (const DType dtype : {DType::s32, DType::u32, DType::s64, DType::u64}) {
    truediv_case(Tensor::of<int32_t>({2}, {7, 101}).cast(dtype), DType::f64);
  }
}

void add_extreme_cases(std::vector<OpCase>& cases) {
  const auto special = [&](std::string name, Function op, const std::vector<double>& x,
                           const std::vector<double>& y, const std::vector<double>& expected) {
    const auto tensor = [](const std::vector<double>& v) {
      return Tensor::of<double>({static_cast<int64_t>(v.size())}, v);
    };
    cases.push_back({.name = std::move(name),
                     .build = [op](const auto& in) { return op(in[0], in[1], {}); },
                     .inputs = {tensor(x), tensor(y)},
                     .expected = {tensor(expected)},
                     .dtypes = {DType::f32},
                     .gradient = false});
  };
  special("maximum_nan", maximum, {kNan, 1, -kInf}, {1, kNan, 2}, {kNan, kNan, 2});
  special("minimum_nan", minimum, {kNan, 1, -kInf}, {1, kNan, 2}, {kNan, kNan, -kInf});
  special("realdiv_by_zero", realdiv, {1, -1, 0}, {0, 0, 0}, {kInf, -kInf, kNan});
  special("floormod_by_zero", floormod, {1, -1}, {0, 0}, {kNan, kNan});
  special("pow_edges", pow, {0, -2, 0, 2, -1}, {0, 3, 2, -1, 0.5}, {1, -8, 0, 0.5, kNan});
  cases.push_back(
      {.name = "add_wraps",
       .build = [](const auto& in) { return in[0] + in[1]; },
       .inputs = {Tensor::of<int8_t>({2}, {127, -128}), Tensor::of<int8_t>({2}, {1, -1})},
       .expected = {Tensor::of<int8_t>({2}, {-128, 127})},
       .gradient = false});
}

void add_n_cases(std::vector<OpCase>& cases) {
  const auto total = [](const auto& in) {
    return std::vector{map_elements(in, in[0].dtype(), [](auto v) {
      double sum = 0;
      for (const double x : v) sum += x;
      return sum;
    })};
  };
  cases.push_back({.name = "add_n",
                   .build =
                       [](const auto& x) {
                         return add_n({x[0], x[1], x[2]});
                       },
                   .inputs = {random_tensor({2, 3}, -1, 1, DType::f64, 1),
                              random_tensor({2, 3}, -1, 1, DType::f64, 2),
                              random_tensor({2, 3}, -1, 1, DType::f64, 3)},
                   .compute = total,
                   .tolerance = 1e-15,
                   .dtypes = {DType::f32, DType::bf16, DType::f16}});
  cases.push_back({.name = "add_n_one",
                   .build = [](const auto& x) { return add_n(x); },
                   .inputs = {random_tensor({2, 3}, -1, 1, DType::f64)},
                   .compute = total,
                   .tolerance = 0});
  cases.push_back({.name = "add_n_s32",
                   .build = [](const auto& x) { return add_n(x); },
                   .inputs = {Tensor::of<int32_t>({2}, {1, 2}), Tensor::of<int32_t>({2}, {30, 40})},
                   .compute = total,
                   .gradient = false});
}

// A literal takes the dtype of the other operand.
void add_operator_cases(std::vector<OpCase>& cases) {
  const auto literal_case = [&](std::string name, BuildFn build, Scalar scalar) {
    cases.push_back(
        {.name = std::move(name),
         .build = std::move(build),
         .inputs = {random_tensor({2, 3}, 0.5, 3, DType::f64),
                    random_tensor({2, 3}, 0.5, 3, DType::f64, 2)},
         .compute = [scalar](const auto& in) { return compute(scalar, DType::f64, in); },
         .tolerance = 1e-15,
         .dtypes = {DType::f32, DType::bf16, DType::f16}});
  };
  literal_case(
      "operators", [](const auto& x) { return 2 * x[0] - x[1] / 4 + 1; },
      [](double x, double y) { return 2 * x - y / 4 + 1; });
  literal_case(
      "operators_minus", [](const auto& x) { return -(1.5 - x[0]) * (x[1] * 2.0f); },
      [](double x, double y) { return -(1.5 - x) * (y * 2); });
  cases.push_back({.name = "operators_s64",
                   .build = [](const auto& x) { return (x[0] * 3 + 1) % 5 - 2; },
                   .inputs = {Tensor::of<int64_t>({4}, {-3, 0, 5, 1000000000000})},
                   .expected = {Tensor::of<int64_t>({4}, {0, -1, -1, -1})},
                   .gradient = false});
}

}  // namespace

std::vector<OpCase> binary_op_cases() {
  std::vector<OpCase> cases;
  for (const Row& row : rows()) {
    if (row.floating) add_floating_cases(cases, row);
    if (row.integer) add_integer_cases(cases, row);
  }
  add_division_cases(cases);
  add_extreme_cases(cases);
  add_n_cases(cases);
  add_operator_cases(cases);
  return with_squares(std::move(cases));
}

}  // namespace systole::graph_testing
