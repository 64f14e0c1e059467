// libtorch's DataLoader over MNIST: in memory, fully shuffled, one worker.
#include <torch/torch.h>

#include "bench/libtorch_peer.h"
#include "bench/mnist_files.h"

namespace bench {
namespace {

constexpr size_t kBatch = 1024;

void dataloader(benchmark::State& state) {
  auto dataset =
      torch::data::datasets::MNIST(mnist_folder()).map(torch::data::transforms::Stack<>());
  for (auto _ : state) {
    auto loader = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
        dataset, torch::data::DataLoaderOptions().batch_size(kBatch).workers(1));
    for (auto& batch : *loader) benchmark::DoNotOptimize(batch.data.data_ptr());
  }
}

}  // namespace

std::map<std::string, Body> libtorch_data_bodies() { return {{"dataloader.mnist", dataloader}}; }

}  // namespace bench
