// The step of cnn_step.cc as a C++ user would write it with libtorch, images channels-last.
#include <torch/torch.h>

#include "bench/libtorch_peer.h"

namespace bench {
namespace {

namespace nn = torch::nn;

constexpr int64_t kBatch = 128;

struct Network : nn::Module {
  torch::Tensor forward(torch::Tensor x) {
    x = torch::max_pool2d(torch::relu(conv_1(x)), 2);
    x = torch::max_pool2d(torch::relu(conv_2(x)), 2);
    x = torch::relu(dense_1(x.reshape({kBatch, -1})));
    return dense_2(torch::dropout(x, 0.4, /*train=*/true));
  }

  nn::Conv2d conv_1 = register_module("conv_1", nn::Conv2d(nn::Conv2dOptions(1, 32, 5).padding(2)));
  nn::Conv2d conv_2 =
      register_module("conv_2", nn::Conv2d(nn::Conv2dOptions(32, 64, 5).padding(2)));
  nn::Linear dense_1 = register_module("dense_1", nn::Linear(7 * 7 * 64, 128));
  nn::Linear dense_2 = register_module("dense_2", nn::Linear(128, 10));
};

void cnn_step(benchmark::State& state) {
  torch::manual_seed(42);
  torch::set_num_threads(static_cast<int>(std::thread::hardware_concurrency()));
  Network network;
  for (torch::Tensor& p : network.parameters()) {
    if (p.dim() == 4) p.set_data(p.contiguous(torch::MemoryFormat::ChannelsLast));
  }
  torch::optim::SGD optimizer(network.parameters(), /*lr=*/0.01);
  const auto images = torch::rand({kBatch, 784});
  const auto labels = torch::randint(10, {kBatch}, torch::kInt64);
  for (auto _ : state) {
    optimizer.zero_grad();
    const auto x =
        images.reshape({kBatch, 1, 28, 28}).contiguous(torch::MemoryFormat::ChannelsLast);
    torch::nn::functional::cross_entropy(network.forward(x), labels).backward();
    optimizer.step();
  }
}

}  // namespace

std::map<std::string, Body> libtorch_cnn_bodies() { return {{"cnn_step.f32", cnn_step}}; }

}  // namespace bench
