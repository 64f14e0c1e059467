#include "systole/graph/testing/random_op_cases.h"

#include <limits>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/random_ops.h"

namespace systole::graph_testing {
namespace {

constexpr int64_t kCount = 37;

// The numbers, and whether all of them lie in [low, high] and not all are one.
Outputs with_range(const Output& x, const Input& low, const Input& high) {
  const Output inside = logical_and(reduce_all(greater_equal(x, low.resolve(x.dtype()))),
                                    reduce_all(less_equal(x, high.resolve(x.dtype()))));
  return {x, logical_and(inside, reduce_any(not_equal(x, reduce_max(x))))};
}

OpCase range_case(std::string name, std::function<Outputs()> build) {
  return {.name = std::move(name),
          .build = [build = std::move(build)](const auto&) { return build(); },
          .inputs = {},
          .expected = {Tensor(), Tensor(true)},
          .gradient = false,
          .unknown_batch = false};
}

void add_floating(std::vector<OpCase>& cases) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
    cases.push_back(range_case(fmt::format("random_uniform_{}", dtype), [dtype] {
      return with_range(random_uniform({kCount}, {.dtype = dtype, .seed = 3}), 0, 1);
    }));
    cases.push_back(range_case(fmt::format("random_uniform_bounds_{}", dtype), [dtype] {
      return with_range(
          random_uniform({kCount}, {.minval = -4, .maxval = 2, .dtype = dtype, .seed = 3}), -4, 2);
    }));
    cases.push_back(range_case(fmt::format("random_normal_{}", dtype), [dtype] {
      return with_range(random_normal({kCount}, {.dtype = dtype, .seed = 3}), -7, 7);
    }));
    cases.push_back(range_case(fmt::format("truncated_normal_{}", dtype), [dtype] {
      return with_range(truncated_normal({kCount}, {.dtype = dtype, .seed = 3}), -2, 2);
    }));
  }
}

void add_integers(std::vector<OpCase>& cases) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (!is_integer(dtype) || dtype_info(dtype).bits < 8) continue;
    cases.push_back(range_case(fmt::format("random_uniform_{}", dtype), [dtype] {
      return with_range(
          random_uniform({kCount}, {.minval = 3, .maxval = 100, .dtype = dtype, .seed = 4}), 3, 99);
    }));
  }
}

// Classes of logit -inf are never drawn; the one that is left always is.
void add_multinomial(std::vector<OpCase>& cases) {
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  const Tensor logits = Tensor::of<double>({2, 3}, {kNever, 0.5, kNever, 1, 1, kNever});
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
    for (const DType classes : {DType::s64, DType::s32}) {
      cases.push_back({.name = fmt::format("multinomial_{}_{}", dtype, classes),
                       .build =
                           [classes](const auto& x) {
                             const Output drawn =
                                 multinomial(x[0], kCount, {.seed = 5, .output_dtype = classes});
                             const Output first = slice(drawn, {0, 0}, {1, -1});
                             return Outputs{drawn, reduce_all(equal(first, 1)), reduce_max(drawn)};
                           },
                       .inputs = {logits.cast(dtype)},
                       .expected = {Tensor(), Tensor(true), Tensor(1).cast(classes)},
                       .gradient = false});
    }
  }
}

void add_shuffle(std::vector<OpCase>& cases) {
  for (const DType dtype : {DType::f64, DType::bf16, DType::s8, DType::u64, DType::pred}) {
    const Tensor x = Tensor::of<int32_t>({2, 1}, {0, 1}).cast(dtype);
    cases.push_back({.name = fmt::format("random_shuffle_{}", dtype),
                     .build =
                         [](const auto& in) {
                           const Output rows = random_shuffle(in[0], {.seed = 6});
                           return Outputs{rows, reduce_sum(cast(rows, DType::s32))};
                         },
                     .inputs = {x},
                     .expected = {Tensor(), Tensor(1)},
                     .gradient = false});
  }
}

// mean + stddev * z: the gradients are 1 and z.
void add_gradients(std::vector<OpCase>& cases) {
  const std::vector<Tensor> moments = {Tensor(0.5), Tensor(2.0)};
  cases.push_back({.name = "random_normal_moments",
                   .build =
                       [](const auto& x) {
                         return random_normal(
                             {2, 3},
                             {.mean = x[0], .stddev = x[1], .dtype = x[0].dtype(), .seed = 7});
                       },
                   .inputs = moments});
  cases.push_back({.name = "truncated_normal_moments",
                   .build =
                       [](const auto& x) {
                         return truncated_normal(
                             {2, 3},
                             {.mean = x[0], .stddev = x[1], .dtype = x[0].dtype(), .seed = 8});
                       },
                   .inputs = moments});
  cases.push_back({.name = "random_uniform_bounds",
                   .build =
                       [](const auto& x) {
                         return random_uniform(
                             {2, 3},
                             {.minval = x[0], .maxval = x[1], .dtype = x[0].dtype(), .seed = 9});
                       },
                   .inputs = moments});
}

}  // namespace

std::vector<OpCase> random_op_cases() {
  std::vector<OpCase> cases;
  add_floating(cases);
  add_integers(cases);
  add_multinomial(cases);
  add_shuffle(cases);
  add_gradients(cases);
  return cases;
}

}  // namespace systole::graph_testing
