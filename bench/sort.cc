// Sorting, selection and random bits against the standard library on one thread.
#include <algorithm>
#include <functional>

#include "bench/figures.h"
#include "systole/base/random.h"
#include "systole/systole.h"

namespace bench {
namespace {

// A batch of rows. Each row is sorted, or its largest elements are selected.
struct Problem {
  const char* name;
  int64_t rows;
  int64_t length;
  int64_t k;  // number of the largest elements; `length` sorts all
};
constexpr Problem kProblems[] = {
    {"sort.f32.1000000", 1, 1000000, 1000000},
    {"sort.f32.256x1000", 256, 1000, 1000},
    {"top_k.f32.128x10000", 128, 10000, 10},
};

st::Tensor random_rows(const Problem& p) {
  st::Tensor result(st::DType::f32, {p.rows, p.length});
  st::RandomStream random(11);
  for (float& x : result.data<float>()) x = static_cast<float>(random.next_normal());
  return result;
}

// Returns values and positions.
void ours(benchmark::State& state, const Problem& p) {
  st::Graph graph;
  const st::GraphScope scope(graph);
  const st::Output x = st::placeholder(st::DType::f32, {p.rows, p.length});
  const st::TopK best = st::top_k(x, {.k = p.k});
  st::Session session("", {.graph = &graph});
  auto sort = session.make_callable({best.values, best.indices}, {x});
  const std::vector<st::Tensor> feeds = {random_rows(p)};
  sort(feeds);  // compiles
  for (auto _ : state) sort(feeds);
}

// Returns values only.
void standard(benchmark::State& state, const Problem& p) {
  const st::Tensor rows = random_rows(p);
  std::vector<float> row(static_cast<size_t>(p.length));
  for (auto _ : state) {
    for (int64_t r = 0; r < p.rows; ++r) {
      std::copy_n(rows.data<float>().data() + r * p.length, p.length, row.begin());
      if (p.k == p.length) {
        std::sort(row.begin(), row.end(), std::greater<>());
      } else {
        std::partial_sort(row.begin(), row.begin() + p.k, row.end(), std::greater<>());
      }
      benchmark::DoNotOptimize(row.data());
    }
  }
}

constexpr int64_t kDraws = 1 << 20;

void uniform(benchmark::State& state) {
  st::Graph graph;
  const st::GraphScope scope(graph);
  const st::Output x = st::random_uniform({kDraws});
  st::Session session("", {.graph = &graph});
  auto draw = session.make_callable({x});
  const std::span<const st::Tensor> none;
  draw(none);  // compiles
  for (auto _ : state) draw(none);
}

void fill(benchmark::State& state) {
  std::vector<float> x(kDraws);
  for (auto _ : state) {
    std::ranges::fill(x, 0.5F);
    benchmark::ClobberMemory();
  }
}

}  // namespace

void add_sort_figures() {
  for (const Problem& p : kProblems) {
    add({.name = p.name,
         .unit = "M/s",
         .work = 1e-6 * static_cast<double>(p.rows * p.length),
         .ours = [&p](benchmark::State& state) { ours(state, p); },
         .limit = [&p](benchmark::State& state) { standard(state, p); }});
  }
  add({.name = "random.uniform",
       .unit = "M/s",
       .work = 1e-6 * kDraws,
       .ours = uniform,
       .limit = fill});
}

}  // namespace bench
