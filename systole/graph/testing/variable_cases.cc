#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/control_flow_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/random_ops.h"
#include "systole/graph/core/variable.h"
#include "systole/graph/testing/op_tester.h"
#include "systole/graph/testing/session_cases.h"

namespace systole::graph_testing {
namespace {

Tensor numbers(DType dtype, const std::vector<int32_t>& elements) {
  return Tensor::of<int32_t>({static_cast<int64_t>(elements.size())}, elements).cast(dtype);
}

// v = [1, 2, 3]; += [10, 20, 30]; -= 5 of each; = what the caller feeds.
void assign_in_turn(MiniSession& session, DType dtype) {
  const Variable v(numbers(dtype, {1, 2, 3}));
  const Output x = placeholder(dtype, {3}, "x");
  const Output added = v.assign_add(x);
  const Output between = v.read_value();
  const Output subtracted = v.assign_sub(numbers(dtype, {5, 5, 5}));
  session.run(v.initializer());
  const auto values =
      session.run({added, between, subtracted, v.value()}, {{x, numbers(dtype, {10, 20, 30})}});
  expect_close(values[0], numbers(dtype, {11, 22, 33}), 0);
  expect_close(values[1], numbers(dtype, {11, 22, 33}), 0);
  expect_close(values[2], numbers(dtype, {6, 17, 28}), 0);
  expect_close(values[3], numbers(dtype, {1, 2, 3}), 0);
  expect_close(session.run(v.value()), numbers(dtype, {6, 17, 28}), 0);
  expect_close(session.run(v.assign(x), {{x, numbers(dtype, {7, 0, 9})}}),
               numbers(dtype, {7, 0, 9}), 0);
  expect_close(session.run(v.value()), numbers(dtype, {7, 0, 9}), 0);
}

void keep_truth(MiniSession& session) {
  const Variable v(Tensor::of<bool>({2}, {true, false}));
  const Output flipped = v.assign(logical_not(v));
  session.run(v.initializer());
  session.run(flipped);
  expect_close(session.run(v.value()), Tensor::of<bool>({2}, {false, true}), 0);
}

void count_steps(MiniSession& session) {
  const Variable step = get_or_create_global_step();
  const Output count = step.assign_add(1);
  session.run(group({step.initializer()}));
  for (int64_t i = 1; i <= 3; ++i) EXPECT_EQ(session.run(count).item<int64_t>(), i);
  EXPECT_EQ(session.run(get_global_step().value()).item<int64_t>(), 3);
}

// One variable of two is written in a loop, the other in the branch taken.
void assign_in_regions(MiniSession& session) {
  const Variable v(1.0F);
  const Variable w(numbers(DType::f32, {1, 2}));
  const Output times = placeholder(DType::s32, {}, "times");
  const Output n = while_loop([&](auto& i) { return less(i[0], times); },
                              [&](auto& i) {
                                v.assign(multiply(v.read_value(), 2));
                                return std::vector{add(i[0], 1)};
                              },
                              {0})[0];
  const Output branch = cond(
      greater(times, 3),
      [&] {
        return w.assign_add(numbers(DType::f32, {10, 10}));
      },
      [&] { return w.assign(negative(w)); });
  session.run(global_variables_initializer());
  session.run({n, branch}, {{times, Tensor(5)}});
  EXPECT_EQ(session.run(v.value()).item<float>(), 32);
  expect_close(session.run(w.value()), numbers(DType::f32, {11, 12}), 0);
  session.run({n, branch}, {{times, Tensor(1)}});
  EXPECT_EQ(session.run(v.value()).item<float>(), 64);
  expect_close(session.run(w.value()), numbers(DType::f32, {-11, -12}), 0);
}

void draw_anew(MiniSession& session) {
  const Variable v(random_normal({4, 3}, {.seed = 11}));
  const Output moved = v.assign_add(random_uniform({4, 3}, {.seed = 12}));
  session.run(v.initializer());
  const Tensor start = session.run(v.value());
  const Tensor once = session.run(moved);
  const Tensor twice = session.run(moved);
  for (int64_t i = 0; i < 12; ++i) {
    const double first = once.as_double(i) - start.as_double(i);
    EXPECT_NE(twice.as_double(i) - once.as_double(i), first);
    EXPECT_GE(first, 0);
    EXPECT_LE(first, 1);
  }
}

}  // namespace

std::vector<SessionCase> variable_cases() {
  std::vector<SessionCase> cases;
  for (const DType dtype :
       {DType::f64, DType::f32, DType::bf16, DType::f16, DType::s8, DType::s16, DType::s32,
        DType::s64, DType::u8, DType::u16, DType::u32, DType::u64}) {
    cases.push_back({fmt::format("assign_{}", dtype),
                     [dtype](MiniSession& session) { assign_in_turn(session, dtype); }});
  }
  cases.push_back({"assign_pred", keep_truth});
  cases.push_back({"global_step", count_steps});
  cases.push_back({"assign_in_regions", assign_in_regions});
  cases.push_back({"draw_anew", draw_anew});
  return cases;
}

}  // namespace systole::graph_testing
