// The overhead of a loop on the device.
#include "bench/figures.h"
#include "systole/systole.h"

namespace bench {
namespace {

constexpr int kIterations = 10000;
constexpr int64_t kRows = 1000;
constexpr int64_t kColumns = 64;

// A counter, and a small tensor that each iteration updates.
void small_tensors(benchmark::State& state) {
  st::Graph graph;
  const st::GraphScope scope(graph);
  const st::Output x = st::placeholder(st::DType::f32, {8});
  const auto last = st::while_loop([](const auto& v) { return st::less(v[0], kIterations); },
                                   [](const auto& v) {
                                     return std::vector{v[0] + 1, v[1] * 0.5 + 1.0};
                                   },
                                   {0, x});
  st::Session session("", {.graph = &graph});
  auto loop = session.make_callable({last[1]}, {x});
  const std::vector<st::Tensor> start = {st::Tensor::full(st::DType::f32, {8}, 3)};
  loop(start);  // compiles
  for (auto _ : state) loop(start);
}

// The same in C++, with the carried values in memory instead of registers.
void small_tensors_native(benchmark::State& state) {
  float x[8] = {3, 3, 3, 3, 3, 3, 3, 3};
  for (auto _ : state) {
    for (int i = 0; i < kIterations; ++i) {
      for (float& value : x) value = value * 0.5F + 1;
      benchmark::DoNotOptimize(x);
      benchmark::ClobberMemory();
    }
  }
}

// Carries a stack of rows and replaces one row per iteration. In place, that writes one row.
void row_updates(benchmark::State& state) {
  st::Graph graph;
  const st::GraphScope scope(graph);
  const st::Output x = st::placeholder(st::DType::f32, {kRows, kColumns});
  const auto history = st::gradients(
      {st::reduce_sum(st::while_loop([](const auto& v) { return st::less(v[0], kRows); },
                                     [](const auto& v) {
                                       return std::vector{v[0] + 1, st::tanh(v[1])};
                                     },
                                     {0, st::reduce_mean(x, {.axis = {0}})})[1])},
      {x});
  st::Session session("", {.graph = &graph});
  auto loop = session.make_callable({history[0]}, {x});
  const std::vector<st::Tensor> start = {st::Tensor::full(st::DType::f32, {kRows, kColumns}, 3)};
  loop(start);  // compiles
  for (auto _ : state) loop(start);
}

}  // namespace

void add_while_figures() {
  add({.name = "while.overhead",
       .unit = "us",
       .per = kIterations,
       .ours = small_tensors,
       .limit = small_tensors_native});
  // Forward and backward through a recurrent loop of 1,000 steps that keeps its values.
  add({.name = "while.history", .unit = "us", .per = 2 * kRows, .ours = row_updates});
}

}  // namespace bench
