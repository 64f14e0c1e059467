// The peer: the same work, written with libtorch as a C++ user would.
#include "bench/libtorch_peer.h"

#include <torch/torch.h>

namespace bench {
namespace {

void iris(benchmark::State& state) {
  torch::manual_seed(42);
  const auto x = torch::tensor({{1.0F, 5.1F, 3.5F, 1.4F, 0.2F}});
  const auto y = torch::tensor({{1.0F, 0.0F, 0.0F}});
  auto w_1 = (torch::randn({5, 256}) * 0.1).requires_grad_();
  auto w_2 = (torch::randn({256, 3}) * 0.1).requires_grad_();
  torch::optim::SGD optimizer({w_1, w_2}, /*lr=*/0.01);
  for (auto _ : state) {
    optimizer.zero_grad();
    const auto yhat = torch::matmul(torch::sigmoid(torch::matmul(x, w_1)), w_2);
    const auto cost = torch::mean(-torch::sum(y * torch::log_softmax(yhat, 1), 1));
    cost.backward();
    optimizer.step();
  }
}

void matmul(benchmark::State& state, torch::ScalarType type, int64_t n) {
  const torch::NoGradGuard no_grad;
  const auto a = torch::full({n, n}, 0.5, type);
  const auto b = torch::full({n, n}, 0.5, type);
  auto c = torch::empty({n, n}, type);
  for (auto _ : state) torch::matmul_out(c, a, b);
}

std::map<std::string, Body> make_bodies() {
  std::map<std::string, Body> bodies = libtorch_cnn_bodies();
  bodies.merge(libtorch_data_bodies());
  bodies["iris"] = iris;
  for (const int64_t n : {64, 256, 512, 1024, 2048}) {
    const std::string size = std::to_string(n);
    bodies["matmul.f32." + size] = [n](benchmark::State& state) {
      matmul(state, torch::kFloat32, n);
    };
    bodies["matmul.bf16." + size] = [n](benchmark::State& state) {
      matmul(state, torch::kBFloat16, n);
    };
    bodies["matmul.f64." + size] = [n](benchmark::State& state) {
      matmul(state, torch::kFloat64, n);
    };
  }
  return bodies;
}

}  // namespace

Body libtorch(const std::string& figure) {
  static const std::map<std::string, Body> bodies = make_bodies();
  const auto it = bodies.find(figure);
  return it == bodies.end() ? nullptr : it->second;
}

}  // namespace bench
