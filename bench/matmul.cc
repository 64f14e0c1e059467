// A product of square matrices, run by a Session. The limit is oneDNN's product, called directly.
// oneDNN has none of f64.
#include <fmt/core.h>
#include <omp.h>

#include <oneapi/dnnl/dnnl.hpp>

#include "bench/figures.h"
#include "systole/backends/cpu/kernels/onednn_version.h"
#include "systole/systole.h"

namespace bench {
namespace {

st::Tensor matrix(st::DType dtype, int64_t n) { return st::Tensor::full(dtype, {n, n}, 0.5); }

// The operands are variables, like the weights of a layer. The callable reuses the buffer of the
// product.
void through_session(benchmark::State& state, st::DType dtype, int64_t n) {
  st::Graph graph;
  const st::GraphScope scope(graph);
  const st::Output a = st::placeholder(dtype, {n, n});
  const st::Output b = st::placeholder(dtype, {n, n});
  st::Session session("", {.graph = &graph});
  auto product = session.make_callable({st::matmul(a, b)}, {a, b});
  const std::vector<st::Tensor> operands = {matrix(dtype, n), matrix(dtype, n)};
  product(operands);  // compiles
  for (auto _ : state) product(operands);
}

void direct(benchmark::State& state, st::DType dtype, int64_t n) {
  using dnnl::memory;
  omp_set_num_threads(omp_get_num_procs());
  const auto type = dtype == st::DType::bf16 ? memory::data_type::bf16 : memory::data_type::f32;
  const memory::desc desc({n, n}, type, memory::format_tag::ab);
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  st::Tensor a = matrix(dtype, n);
  st::Tensor b = matrix(dtype, n);
  st::Tensor c = matrix(dtype, n);
  const dnnl::matmul matmul(st::cpu::describe<dnnl::matmul>({}, engine, desc, desc, desc));
  const std::unordered_map<int, memory> arguments = {
      {DNNL_ARG_SRC, memory(desc, engine, a.raw())},
      {DNNL_ARG_WEIGHTS, memory(desc, engine, b.raw())},
      {DNNL_ARG_DST, memory(desc, engine, c.raw())}};
  for (auto _ : state) {
    matmul.execute(stream, arguments);
    stream.wait();
  }
}

}  // namespace

void add_matmul_figures() {
  for (const st::DType dtype : {st::DType::f32, st::DType::bf16}) {
    for (const int64_t n : {64, 256, 512, 1024, 2048}) {
      const double flops = 2.0 * static_cast<double>(n * n * n);
      const std::string name = fmt::format("matmul.{}.{}", dtype, n);
      add({.name = name,
           .unit = "GFLOP/s",
           .work = flops * 1e-9,
           .ours = [=](benchmark::State& state) { through_session(state, dtype, n); },
           .limit = [=](benchmark::State& state) { direct(state, dtype, n); }});
    }
  }
  for (const int64_t n : {256, 1024}) {  // a kernel of the cpu backend: oneDNN has none
    const std::string name = fmt::format("matmul.f64.{}", n);
    add({.name = name,
         .unit = "GFLOP/s",
         .work = 2e-9 * static_cast<double>(n * n * n),
         .ours = [=](benchmark::State& state) { through_session(state, st::DType::f64, n); }});
  }
}

}  // namespace bench
