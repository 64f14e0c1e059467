#include "systole/graph/testing/control_flow_op_cases.h"

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/control_flow_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/functions/functional_ops.h"

namespace systole::graph_testing {
namespace {

const std::vector<DType> kFloats = {DType::f32, DType::bf16, DType::f16};

void add_branches(std::vector<OpCase>& cases) {
  for (const bool pred : {true, false}) {
    cases.push_back({.name = pred ? "cond_true" : "cond_false",
                     .build =
                         [pred](const std::vector<Output>& x) {
                           const Output p = less(reduce_sum(x[0]), pred ? 1e3 : -1e3);
                           return cond(
                               p,
                               [&] {
                                 return std::vector{multiply(x[0], x[1]), exp(x[1])};
                               },
                               [&] {
                                 return std::vector{square(x[0]), x[1]};
                               });
                         },
                     .inputs = {random_tensor({3, 2}), random_tensor({3, 2}, -1, 1, DType::f32, 2)},
                     .reference =
                         [pred](const std::vector<Output>& x) {
                           return pred ? std::vector{multiply(x[0], x[1]), exp(x[1])}
                                       : std::vector{square(x[0]), identity(x[1])};
                         },
                     .dtypes = kFloats,
                     .second_order = true});
  }
}

// x <- tanh(x * w + b), `times` times.
std::vector<Output> recurrence(const Output& x, const Output& w, const Output& b,
                               const Input& times, const WhileLoopOptions& options = {}) {
  const Output limit = times.resolve();
  return {while_loop([&](auto& v) { return less(v[0], limit); },
                     [&](auto& v) {
                       return std::vector{add(v[0], 1), tanh(add(multiply(v[1], w), b))};
                     },
                     {0, x}, options)[1]};
}

Outputs unrolled_recurrence(const std::vector<Output>& x, int times) {
  Output value = identity(x[0]);
  for (int i = 0; i < times; ++i) value = tanh(add(multiply(value, x[1]), x[2]));
  return value;
}

OpCase recurrence_case(std::string name, BuildFn build, int times) {
  return {.name = std::move(name),
          .build = std::move(build),
          .inputs = {random_tensor({2, 3}), random_tensor({3}, -1, 1, DType::f32, 2),
                     random_tensor({3}, -1, 1, DType::f32, 3)},
          .reference = [times](const auto& x) { return unrolled_recurrence(x, times); },
          .dtypes = kFloats,
          .known_inputs = {1, 2}};
}

void add_loops(std::vector<OpCase>& cases) {
  cases.push_back(recurrence_case(
      "while_counter", [](auto& x) { return recurrence(x[0], x[1], x[2], 4); }, 4));
  cases.back().second_order = true;
  cases.push_back(recurrence_case(
      "while_maximum_iterations",
      [](auto& x) {
        // A condition that the compiler cannot follow.
        const Output four = add(cast(multiply(reduce_sum(x[0]), 0), DType::s32), 4);
        return recurrence(x[0], x[1], x[2], four, {.maximum_iterations = 9});
      },
      4));
  cases.push_back(recurrence_case(
      "while_as_often_as_there_are_rows",
      [](auto& x) {
        const Output rows = reduce_sum(slice(shape(x[0]), {0}, {1}));
        return recurrence(x[0], x[1], x[2], rows);
      },
      2));
  cases.push_back(recurrence_case(
      "while_never_run", [](auto& x) { return recurrence(x[0], x[1], x[2], 0); }, 0));
  cases.push_back({.name = "while_invariant",
                   .build =
                       [](auto& x) {
                         const auto results = while_loop(
                             [](auto& v) { return less(v[0], 3); },
                             [](auto& v) {
                               return std::vector{add(v[0], 1), multiply(v[1], v[2]), v[2]};
                             },
                             {0, x[0], x[1]});
                         return std::vector{results[1], results[2]};
                       },
                   .inputs = {random_tensor({2}), random_tensor({2}, -1, 1, DType::f32, 2)},
                   .reference =
                       [](auto& x) {
                         return std::vector{x[0] * x[1] * x[1] * x[1], identity(x[1])};
                       },
                   .second_order = true});
}

void add_nested(std::vector<OpCase>& cases) {
  cases.push_back({.name = "while_nested",
                   .build =
                       [](auto& x) {
                         return while_loop(
                             [](auto& v) { return less(v[0], 3); },
                             [&](auto& v) {
                               const Output inner = recurrence(v[1], x[1], x[1], 2)[0];
                               const Output next = cond(
                                   equal(v[0], 1), [&] { return multiply(inner, x[1]); },
                                   [&] { return sin(inner); });
                               return std::vector{add(v[0], 1), next};
                             },
                             {0, x[0]})[1];
                       },
                   .inputs = {random_tensor({2}), random_tensor({2}, -1, 1, DType::f32, 2)},
                   .reference =
                       [](auto& x) {
                         Output v = x[0];
                         for (int i = 0; i < 3; ++i) {
                           const Output inner = unrolled_recurrence({v, x[1], x[1]}, 2)[0];
                           v = i == 1 ? multiply(inner, x[1]) : sin(inner);
                         }
                         return v;
                       },
                   .known_inputs = {0, 1}});
}

void add_maps(std::vector<OpCase>& cases) {
  cases.push_back({.name = "map_fn",
                   .build =
                       [](auto& x) {
                         const auto fn = [&](const std::vector<Output>& row) {
                           return std::vector{row[0] * x[2] + row[1], reduce_sum(square(row[0]))};
                         };
                         return map_fn(fn, {x[0], x[1]});
                       },
                   .inputs = {random_tensor({4, 3}), random_tensor({4}, -1, 1, DType::f32, 2),
                              random_tensor({3}, -1, 1, DType::f32, 3)},
                   .reference =
                       [](auto& x) {
                         return std::vector{x[0] * x[2] + expand_dims(x[1], 1),
                                            reduce_sum(square(x[0]), {.axis = 1})};
                       },
                   .dtypes = kFloats,
                   .second_order = true,
                   .known_inputs = {2}});
  // ((0.5 r0 + r1) 0.5 + r2)...
  const auto fold = [](const Output& state, const Output& row) { return state * 0.5 + row; };
  const auto add_fold = [&](std::string name, BuildFn build, const std::vector<float>& weights) {
    const auto rows = static_cast<int64_t>(weights.size());
    cases.push_back(
        {.name = std::move(name),
         .build = std::move(build),
         .inputs = {random_tensor({rows, 2})},
         .reference =
             [weights, rows](auto& x) {
               const Output w = cast(Tensor::of<float>({rows, 1}, weights), x[0].dtype());
               return reduce_sum(x[0] * w, {.axis = 0});
             },
         .dtypes = kFloats});
  };
  add_fold("foldl", [fold](auto& x) { return foldl(fold, x[0]); }, {0.25F, 0.5F, 1});
  add_fold("foldr", [fold](auto& x) { return foldr(fold, x[0]); }, {1, 0.5F, 0.25F});
  add_fold("foldl_initializer",
           [fold](auto& x) { return foldl(fold, x[0], zeros({2}, x[0].dtype())); }, {0.5F, 1});
}

}  // namespace

std::vector<OpCase> control_flow_op_cases() {
  std::vector<OpCase> cases;
  add_branches(cases);
  add_loops(cases);
  add_nested(cases);
  add_maps(cases);
  return cases;
}

}  // namespace systole::graph_testing
