// The step of cnn_step.cc, written with libtorch as a C++ user would, with channels-last images.
#include <torch/torch.h>

#include <chrono>
#include <thread>

#include "bench/libtorch_peer.h"

namespace bench {
namespace {

namespace nn = torch::nn;

struct Network : nn::Module {
  torch::Tensor forward(torch::Tensor x) {
    x = torch::max_pool2d(torch::relu(conv_1(x)), 2);
    x = torch::max_pool2d(torch::relu(conv_2(x)), 2);
    x = torch::relu(dense_1(x.reshape({x.size(0), -1})));
    return dense_2(torch::dropout(x, 0.4, /*train=*/true));
  }

  nn::Conv2d conv_1 = register_module("conv_1", nn::Conv2d(nn::Conv2dOptions(1, 32, 5).padding(2)));
  nn::Conv2d conv_2 =
      register_module("conv_2", nn::Conv2d(nn::Conv2dOptions(32, 64, 5).padding(2)));
  nn::Linear dense_1 = register_module("dense_1", nn::Linear(7 * 7 * 64, 128));
  nn::Linear dense_2 = register_module("dense_2", nn::Linear(128, 10));
};

// The network, its optimizer and one batch.
struct Training {
  explicit Training(int64_t batch)
      : images(torch::rand({batch, 784})), labels(torch::randint(10, {batch}, torch::kInt64)) {
    torch::set_num_threads(static_cast<int>(std::thread::hardware_concurrency()));
    for (torch::Tensor& p : network.parameters()) {
      if (p.dim() == 4) p.set_data(p.contiguous(torch::MemoryFormat::ChannelsLast));
    }
  }
  void step() {
    optimizer.zero_grad();
    const auto x =
        images.reshape({images.size(0), 1, 28, 28}).contiguous(torch::MemoryFormat::ChannelsLast);
    torch::nn::functional::cross_entropy(network.forward(x), labels).backward();
    optimizer.step();
  }

  torch::Tensor images, labels;
  Network network;
  torch::optim::SGD optimizer{network.parameters(), /*lr=*/0.01};
};

void cnn_step(benchmark::State& state) {
  torch::manual_seed(42);
  Training training(128);
  for (auto _ : state) training.step();
}

// Runs as many steps of the global batch as our row times. The batch is in memory.
void mnist_train(benchmark::State& state) {
  torch::manual_seed(42);
  Training training(1024);
  training.step();
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 10; ++i) training.step();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    state.SetIterationTime(took.count());
  }
}

}  // namespace

std::map<std::string, Body> libtorch_cnn_bodies() {
  return {{"cnn_step.f32", cnn_step}, {"mnist.train", mnist_train}};
}

}  // namespace bench
