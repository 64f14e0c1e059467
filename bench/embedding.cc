// Lookup of 15,000 of 16,000 rows of 32 floats, and its gradient. Training steps of large tables,
// of which a batch uses few rows.
#include <algorithm>
#include <cstring>

#include "bench/figures.h"
#include "systole/base/random.h"
#include "systole/base/thread_pool.h"
#include "systole/systole.h"

namespace bench {
namespace {

constexpr int64_t kRows = 16000;
constexpr int64_t kWidth = 32;
constexpr int64_t kIndices = 15000;
constexpr double kRowBytes = kWidth * sizeof(float);
// A gather reads and writes one row per index. Its gradient fills the table with zeros, then reads
// two rows and writes their sum for each index.
constexpr double kGatherBytes = 2.0 * kIndices * kRowBytes;
constexpr double kScatterBytes = (kRows + 3.0 * kIndices) * kRowBytes;

st::Tensor random_indices() {
  st::Tensor result(st::DType::s32, {kIndices});
  st::RandomStream random(7);
  for (int32_t& index : result.data<int32_t>())
    index = static_cast<int32_t>(random.next_below(kRows));
  return result;
}

void gather(benchmark::State& state) {
  st::Graph graph;
  const st::GraphScope scope(graph);
  const st::Output table = st::placeholder(st::DType::f32, {kRows, kWidth});
  const st::Output ids = st::placeholder(st::DType::s32, {kIndices});
  st::Session session("", {.graph = &graph});
  auto look_up = session.make_callable({st::gather(table, ids)}, {table, ids});
  const std::vector<st::Tensor> feeds = {st::Tensor::full(st::DType::f32, {kRows, kWidth}, 1),
                                         random_indices()};
  look_up(feeds);  // compiles
  for (auto _ : state) look_up(feeds);
}

void scatter(benchmark::State& state) {
  st::Graph graph;
  const st::GraphScope scope(graph);
  const st::Output table = st::placeholder(st::DType::f32, {kRows, kWidth});
  const st::Output ids = st::placeholder(st::DType::s32, {kIndices});
  const st::Output rows = st::placeholder(st::DType::f32, {kIndices, kWidth});
  const auto gradient = st::gradients({st::gather(table, ids)}, {table}, {.grad_ys = {rows}});
  st::Session session("", {.graph = &graph});
  auto add_rows = session.make_callable({gradient[0]}, {table, ids, rows});
  const std::vector<st::Tensor> feeds = {st::Tensor::full(st::DType::f32, {kRows, kWidth}, 1),
                                         random_indices(),
                                         st::Tensor::full(st::DType::f32, {kIndices, kWidth}, 1)};
  add_rows(feeds);  // compiles
  for (auto _ : state) add_rows(feeds);
}

// A batch of 4,096 examples with 26 features of one value each, of a table of 64 floats a row.
constexpr int64_t kLookups = int64_t{4096} * 26;
constexpr int64_t kTableWidth = 64;
constexpr double kTableRowBytes = kTableWidth * sizeof(float);
// The lookup reads a row; the update reads and writes one, and one of the slot.
constexpr double kDescentBytes = 3.0 * kLookups * kTableRowBytes;
constexpr double kAdagradBytes = 5.0 * kLookups * kTableRowBytes;

st::Tensor random_rows(int64_t table_rows, uint64_t seed) {
  st::Tensor result(st::DType::s32, {kLookups});
  st::RandomStream random(seed);
  for (int32_t& index : result.data<int32_t>()) {
    index = static_cast<int32_t>(random.next_below(static_cast<uint64_t>(table_rows)));
  }
  return result;
}

// One step of a loss on looked-up rows; each with other rows.
template <class Optimizer>
void sparse_step(benchmark::State& state, int64_t table_rows, const Optimizer& optimizer) {
  st::Graph graph;
  const st::GraphScope scope(graph);
  const st::Variable table(st::fill({table_rows, kTableWidth}, 0.5F), {.name = "table"});
  const st::Output ids = st::placeholder(st::DType::s32, {kLookups});
  const st::Output loss = st::reduce_sum(st::square(st::gather(table, ids)));
  Optimizer copy = optimizer;
  const st::Operation train = copy.minimize(loss);
  st::Session session("", {.graph = &graph});
  session.run(st::global_variables_initializer());
  const std::vector<st::Tensor> batches = {random_rows(table_rows, 1), random_rows(table_rows, 2),
                                           random_rows(table_rows, 3)};
  const auto step = [&](size_t i) { session.run(train, {{ids, batches[i % batches.size()]}}); };
  step(0);  // compiles
  size_t i = 0;
  for (auto _ : state) step(++i);
}

// Reads and writes such rows in place, in their order, on all threads: `tables` tables, and one
// more reading of the first.
void touch_rows(benchmark::State& state, int64_t table_rows, int tables) {
  std::vector<st::Tensor> all;
  for (int i = 0; i < tables; ++i) {
    all.push_back(st::Tensor::full(st::DType::f32, {table_rows, kTableWidth}, 1));
  }
  const std::vector<st::Tensor> batches = {random_rows(table_rows, 1), random_rows(table_rows, 2),
                                           random_rows(table_rows, 3)};
  std::vector<float> looked_up(static_cast<size_t>(kLookups * kTableWidth));
  const auto row_of = [&](st::Tensor& table, int32_t id) {
    return table.data<float>().data() + int64_t{id} * kTableWidth;
  };
  // The rows of the next lookups are on their way to the caches meanwhile.
  const auto each = [&](const st::Tensor& batch, st::Tensor& table, const auto& f) {
    constexpr int64_t kAhead = 8;
    const int32_t* const ids = batch.data<int32_t>().data();
    st::ThreadPool::global().parallel_for(kLookups, 1 << 10, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const float* const next = row_of(table, ids[std::min(i + kAhead, kLookups - 1)]);
        for (int64_t k = 0; k < kTableWidth; k += 16) __builtin_prefetch(next + k);
        f(i, row_of(table, ids[i]));
      }
    });
  };
  size_t i = 0;
  for (auto _ : state) {
    const st::Tensor& batch = batches[++i % batches.size()];
    each(batch, all[0], [&](int64_t at, const float* row) {
      std::memcpy(looked_up.data() + at * kTableWidth, row, kTableWidth * sizeof(float));
    });
    for (st::Tensor& table : all) {
      each(batch, table, [&](int64_t at, float* row) {
        const float* const update = looked_up.data() + at * kTableWidth;
        for (int64_t k = 0; k < kTableWidth; ++k) row[k] += update[k];
      });
    }
    benchmark::ClobberMemory();
  }
}

// Moves `bytes` on all threads, half of them read and half written.
void copy(benchmark::State& state, double bytes) {
  const auto half = static_cast<int64_t>(bytes / 2);
  std::vector<char> from(static_cast<size_t>(half), 1);
  std::vector<char> to(static_cast<size_t>(half), 2);
  for (auto _ : state) {
    st::ThreadPool::global().parallel_for(half, 1 << 16, [&](int64_t begin, int64_t end) {
      std::memcpy(to.data() + begin, from.data() + begin, static_cast<size_t>(end - begin));
    });
    benchmark::ClobberMemory();
  }
}

}  // namespace

void add_embedding_figures() {
  add({.name = "embedding.gather",
       .unit = "GB/s",
       .work = kGatherBytes * 1e-9,
       .ours = gather,
       .limit = [](benchmark::State& state) { copy(state, kGatherBytes); }});
  add({.name = "embedding.scatter",
       .unit = "GB/s",
       .work = kScatterBytes * 1e-9,
       .ours = scatter,
       .limit = [](benchmark::State& state) { copy(state, kScatterBytes); }});
  // Tables of 2.6 GB.
  constexpr int64_t kTableRows = 10'000'000;
  add({.name = "embedding.sparse_step",
       .unit = "GB/s",
       .work = kDescentBytes * 1e-9,
       .ours =
           [](benchmark::State& state) {
             sparse_step(state, kTableRows, st::GradientDescentOptimizer(1e-4));
           },
       .limit = [](benchmark::State& state) { touch_rows(state, kTableRows, 1); },
       .repetitions = 3});
  add({.name = "embedding.sparse_adagrad",
       .unit = "GB/s",
       .work = kAdagradBytes * 1e-9,
       .ours =
           [](benchmark::State& state) {
             sparse_step(state, kTableRows / 2, st::AdagradOptimizer(1e-4));
           },
       .limit = [](benchmark::State& state) { touch_rows(state, kTableRows / 2, 2); },
       .repetitions = 3});
}

}  // namespace bench
