// Pooling and its gradients, run by a Session. The limit calls oneDNN's primitives directly.
#include <fmt/core.h>
#include <omp.h>

#include <oneapi/dnnl/dnnl.hpp>

#include "bench/figures.h"
#include "systole/backends/cpu/kernels/onednn_version.h"
#include "systole/systole.h"

namespace bench {
namespace {

// Square windows on square NHWC images, padding SAME.
struct Pool {
  const char* name;
  bool maximum;
  int64_t batch, channels, size, window, stride;

  int64_t result_size() const { return (size + stride - 1) / stride; }
  int64_t padding() const {
    return std::max<int64_t>((result_size() - 1) * stride + window - size, 0);
  }
  st::Shape input() const { return {batch, size, size, channels}; }
  st::Shape result() const { return {batch, result_size(), result_size(), channels}; }
};

constexpr Pool kPools[] = {{"mnist_max", true, 128, 32, 28, 2, 2},
                           {"resnet_max", true, 8, 64, 112, 3, 2},
                           {"mean_2x2", false, 8, 256, 28, 2, 2}};

st::Output gradient(const Pool& pool, const st::Output& x, const st::Output& dy,
                    const st::PoolOptions& options) {
  const st::Output y = pool.maximum ? st::max_pool(x, options) : st::avg_pool(x, options);
  return st::gradients({y}, {x}, {.grad_ys = {dy}})[0];
}

void through_session(benchmark::State& state, const Pool& pool, bool backward) {
  st::Graph graph;
  const st::GraphScope scope(graph);
  const st::Output x = st::placeholder(st::DType::f32, pool.input());
  const st::Output dy = st::placeholder(st::DType::f32, pool.result());
  const st::PoolOptions options{
      .ksize = {pool.window}, .strides = {pool.stride}, .padding = st::Padding::same};
  const st::Output result = backward       ? gradient(pool, x, dy, options)
                            : pool.maximum ? st::max_pool(x, options)
                                           : st::avg_pool(x, options);
  st::Session session("", {.graph = &graph});
  auto run = session.make_callable({result}, {x, dy});
  const std::vector<st::Tensor> operands = {st::Tensor::full(st::DType::f32, pool.input(), 0.5),
                                            st::Tensor::full(st::DType::f32, pool.result(), 0.5)};
  run(operands);  // compiles
  for (auto _ : state) run(operands);
}

void direct(benchmark::State& state, const Pool& pool, bool backward) {
  using dnnl::memory;
  omp_set_num_threads(omp_get_num_procs());
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const auto desc = [&](int64_t size) {
    return memory::desc({pool.batch, pool.channels, size, size}, memory::data_type::f32,
                        memory::format_tag::nhwc);
  };
  const int64_t low = pool.padding() / 2;
  const memory::dims window = {pool.window, pool.window};
  const memory::dims strides = {pool.stride, pool.stride};
  const memory::dims none = {0, 0};
  const memory::dims before = {low, low};
  const memory::dims after = {pool.padding() - low, pool.padding() - low};
  const auto algorithm =
      pool.maximum ? dnnl::algorithm::pooling_max : dnnl::algorithm::pooling_avg_exclude_padding;
  const auto forward = st::cpu::describe<st::cpu::PoolingForward>(
      {}, engine, dnnl::prop_kind::forward_training, algorithm, desc(pool.size),
      desc(pool.result_size()), strides, window, none, before, after);
  const memory x(desc(pool.size), engine);
  const memory y(desc(pool.result_size()), engine);
  std::unordered_map<int, memory> arguments = {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}};
  if (pool.maximum) arguments.emplace(DNNL_ARG_WORKSPACE, memory(forward.workspace_desc(), engine));
  const st::cpu::PoolingForward run(forward);
  run.execute(stream, arguments);
  stream.wait();
  if (!backward) {
    for (auto _ : state) run.execute(stream, arguments);
    return;
  }
  const st::cpu::PoolingBackward back(st::cpu::describe_gradient<st::cpu::PoolingBackward>(
      forward, {}, engine, algorithm, desc(pool.size), desc(pool.result_size()), strides, window,
      none, before, after));
  arguments.emplace(DNNL_ARG_DIFF_SRC, x);
  arguments.emplace(DNNL_ARG_DIFF_DST, y);
  for (auto _ : state) back.execute(stream, arguments);
}

}  // namespace

void add_pool_figures() {
  for (const Pool& pool : kPools) {
    for (const bool backward : {false, true}) {
      add({.name = fmt::format("pool.f32.{}.{}", pool.name, backward ? "gradient" : "forward"),
           .unit = "us",
           .ours = [=](benchmark::State& state) { through_session(state, pool, backward); },
           .limit = [=](benchmark::State& state) { direct(state, pool, backward); }});
    }
  }
}

}  // namespace bench
