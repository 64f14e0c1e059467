// Lookup of 15,000 of 16,000 rows of 32 floats, and its gradient.
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
}

}  // namespace bench
