#include <algorithm>
#include <cmath>
#include <limits>

#include "systole/graph/api/math_ops.h"
#include "systole/graph/testing/math_op_cases.h"
#include "systole/graph/testing/scalar_reference.h"

namespace systole::graph_testing {
namespace {

using Function = Output (*)(const Input&, const Input&, const NameOptions&);
using Scalar = bool (*)(double, double);

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

BuildFn binary(Function op) {
  return [op](const auto& x) { return op(x[0], x[1], {}); };
}

std::vector<Tensor> compute(Scalar scalar, const std::vector<Tensor>& inputs) {
  return {map_elements(inputs, DType::pred,
                       [scalar](auto v) { return scalar(v[0], v[1]) ? 1.0 : 0.0; })};
}

void add_comparisons(std::vector<OpCase>& cases) {
  const std::vector<std::pair<std::string, std::pair<Function, Scalar>>> functions = {
      {"equal", {equal, [](double x, double y) { return x == y; }}},
      {"not_equal", {not_equal, [](double x, double y) { return x != y; }}},
      {"less", {less, [](double x, double y) { return x < y; }}},
      {"less_equal", {less_equal, [](double x, double y) { return x <= y; }}},
      {"greater", {greater, [](double x, double y) { return x > y; }}},
      {"greater_equal", {greater_equal, [](double x, double y) { return x >= y; }}},
  };
  for (const auto& [name, function] : functions) {
    const auto add = [&, &name = name, &op = function.first, &scalar = function.second](
                         std::string_view suffix, Tensor x, Tensor y) {
      cases.push_back({.name = fmt::format("{}_{}", name, suffix),
                       .build = binary(op),
                       .inputs = {std::move(x), std::move(y)},
                       .compute = [scalar](const auto& in) { return compute(scalar, in); },
                       .gradient = false});
    };
    for (int i = 0; i < kNumDTypes; ++i) {
      const auto dtype = static_cast<DType>(i);
      const DTypeInfo& info = dtype_info(dtype);
      if ((!info.integer && !info.floating) || info.bits < 8 || is_small_float(dtype)) continue;
      const double low = info.integer && !info.is_signed ? 0 : -2;
      // Small integers, so that some are equal.
      const auto some = [&](const Shape& shape, uint64_t seed) {
        return random_tensor(shape, low, 3, DType::s32, seed).cast(dtype);
      };
      add(to_string(dtype), some({4, 3}, 1), some({3}, 2));
    }
    add("nan", Tensor::of<float>({2}, {static_cast<float>(kNan), 1}),
        Tensor::full(DType::f32, {}, kNan));
    add("outer", random_tensor({3, 1}, -1, 1), random_tensor({1, 4}, -1, 1));
  }
  for (const auto& [name, op] :
       {std::pair<std::string, Function>{"equal_pred", equal}, {"not_equal_pred", not_equal}}) {
    const bool same = op == static_cast<Function>(equal);
    cases.push_back(
        {.name = name,
         .build = binary(op),
         .inputs = {Tensor::of<bool>({2, 1}, {false, true}), Tensor::of<bool>({2}, {false, true})},
         .expected = {Tensor::of<bool>({2, 2}, {same, !same, !same, same})},
         .gradient = false});
  }
}

void add_logic(std::vector<OpCase>& cases) {
  const std::vector<std::pair<std::string, std::pair<Function, Scalar>>> functions = {
      {"logical_and", {logical_and, [](double x, double y) { return x != 0 && y != 0; }}},
      {"logical_or", {logical_or, [](double x, double y) { return x != 0 || y != 0; }}},
      {"logical_xor", {logical_xor, [](double x, double y) { return x != y; }}},
  };
  for (const auto& [name, function] : functions) {
    cases.push_back(
        {.name = name,
         .build = binary(function.first),
         .inputs = {Tensor::of<bool>({2, 1}, {false, true}),
                    Tensor::of<bool>({1, 2}, {false, true})},
         .compute = [scalar = function.second](const auto& in) { return compute(scalar, in); },
         .gradient = false});
  }
  cases.push_back({.name = "logical_not",
                   .build = [](const auto& x) { return logical_not(x[0]); },
                   .inputs = {Tensor::of<bool>({2}, {false, true})},
                   .expected = {Tensor::of<bool>({2}, {true, false})},
                   .gradient = false});
}

OpCase where_case(std::string name, Tensor condition, const Shape& x, const Shape& y) {
  return {.name = std::move(name),
          .build = [](const auto& in) { return where(in[0], in[1], in[2]); },
          .inputs = {std::move(condition), random_tensor(x, -1, 1, DType::f64, 1),
                     random_tensor(y, -1, 1, DType::f64, 2)},
          .compute =
              [](const auto& in) {
                return std::vector{
                    map_elements(in, DType::f64, [](auto v) { return v[0] != 0 ? v[1] : v[2]; })};
              },
          .tolerance = 0,
          .dtypes = {DType::f32, DType::bf16, DType::f16}};
}

void add_where(std::vector<OpCase>& cases) {
  const Tensor mask = Tensor::of<bool>({2, 3}, {true, false, true, false, false, true});
  cases.push_back(where_case("where_same", mask, {2, 3}, {2, 3}));
  cases.push_back(where_case("where_scalar_condition", Tensor(true), {2, 3}, {2, 3}));
  cases.push_back(where_case("where_scalar_value", mask, {2, 3}, {}));
  cases.push_back(where_case("where_broadcasts", mask, {3}, {2, 1}));
  cases.push_back(where_case("where_vector_condition", Tensor::of<bool>({3}, {true, false, true}),
                             {2, 3}, {3}));
  OpCase rows = where_case("where_rows", Tensor::of<bool>({2}, {true, false}), {2, 2}, {2, 2});
  rows.compute = nullptr;
  rows.inputs[1] = Tensor::of<double>({2, 2}, {1, 2, 3, 4});
  rows.inputs[2] = Tensor::of<double>({2, 2}, {5, 6, 7, 8});
  rows.expected = {Tensor::of<double>({2, 2}, {1, 2, 7, 8})};
  cases.push_back(rows);
  rows.name = "where_v2_columns";
  rows.build = [](const auto& in) { return where_v2(in[0], in[1], in[2]); };
  rows.expected = {Tensor::of<double>({2, 2}, {1, 6, 3, 8})};
  cases.push_back(rows);
  for (const DType dtype : {DType::pred, DType::s8, DType::u16, DType::s32, DType::u64}) {
    OpCase typed = where_case(fmt::format("where_{}", dtype), mask, {2, 3}, {2, 3});
    for (size_t i : {1, 2}) typed.inputs[i] = random_tensor({2, 3}, 0, 2, dtype, i);
    typed.compute = [dtype](const auto& in) {
      return std::vector{map_elements(in, dtype, [](auto v) { return v[0] != 0 ? v[1] : v[2]; })};
    };
    typed.dtypes = {};
    typed.gradient = false;
    cases.push_back(std::move(typed));
  }
  cases.push_back({.name = "where_literal",
                   .build = [](const auto& in) { return where(in[0] > 0, in[0], 0); },
                   .inputs = {Tensor::of<float>({3}, {-1, 2, -3})},
                   .expected = {Tensor::of<float>({3}, {0, 2, 0})},
                   .tolerance = 0});
}

void add_clip_by_value(std::vector<OpCase>& cases) {
  cases.push_back({.name = "clip_by_value",
                   .build = [](const auto& x) { return clip_by_value(x[0], -0.5, 0.25); },
                   .inputs = {random_tensor({3, 4}, -1, 1, DType::f64)},
                   .compute =
                       [](const auto& in) {
                         return std::vector{map_elements(
                             in, DType::f64, [](auto v) { return std::clamp(v[0], -0.5, 0.25); })};
                       },
                   .tolerance = 0,
                   .dtypes = {DType::f32, DType::bf16, DType::f16}});
  cases.push_back({.name = "clip_by_value_tensors",
                   .build = [](const auto& x) { return clip_by_value(x[0], x[1], x[2]); },
                   .inputs = {random_tensor({3, 4}, -1, 1, DType::f64),
                              random_tensor({4}, -0.5, 0, DType::f64, 2),
                              random_tensor({3, 1}, 0.1, 0.5, DType::f64, 3)},
                   .compute =
                       [](const auto& in) {
                         return std::vector{map_elements(
                             in, DType::f64, [](auto v) { return std::clamp(v[0], v[1], v[2]); })};
                       },
                   .tolerance = 0});
  cases.push_back({.name = "clip_by_value_s32",
                   .build = [](const auto& x) { return clip_by_value(x[0], 0, 5); },
                   .inputs = {Tensor::of<int32_t>({3}, {-3, 3, 9})},
                   .expected = {Tensor::of<int32_t>({3}, {0, 3, 5})},
                   .gradient = false});
}

}  // namespace

std::vector<OpCase> comparison_op_cases() {
  std::vector<OpCase> cases;
  add_comparisons(cases);
  add_logic(cases);
  add_where(cases);
  add_clip_by_value(cases);
  return cases;
}

}  // namespace systole::graph_testing
