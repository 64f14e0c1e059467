// The input pipeline: MNIST from records to batches against a hand-written reader on one thread,
// MNIST from memory against libtorch's DataLoader, and maps with one and two workers.
#include <cstring>
#include <thread>

#include "bench/figures.h"
#include "bench/mnist_files.h"
#include "systole/io/local/local_file_system.h"
#include "systole/io/records/example.h"
#include "systole/io/records/tfrecord.h"
#include "systole/io/tables/idx.h"
#include "systole/systole.h"

namespace bench {
namespace {

constexpr int64_t kBatch = 1024;
constexpr int64_t kPixels = 784;

std::string records() { return mnist_folder() + "/train.tfrecords"; }

// Iterates a dataset to its end in every iteration. The first epoch compiles its functions and is
// not timed.
void drain(benchmark::State& state, const st::Dataset& dataset) {
  const auto epoch = [&] {
    st::Iterator iterator(dataset);
    st::Components row;
    while (iterator.next_row(row)) benchmark::DoNotOptimize(row.front().raw());
  };
  epoch();
  for (auto _ : state) epoch();
}

void from_records(benchmark::State& state) {
  drain(state,
        st::TFRecordDataset(records()).map(parse_mnist).shuffle(10000, {.seed = 1}).batch(kBatch));
}

// The pipeline of the Estimator guide. The first epoch is not timed.
void from_cache(benchmark::State& state) {
  const st::Dataset dataset =
      st::TFRecordDataset(records()).map(parse_mnist).cache().repeat().batch(kBatch);
  st::Iterator iterator(dataset);
  st::Components row;
  for (int64_t i = 0; i <= kMnistImages / kBatch; ++i) iterator.next_row(row);
  for (auto _ : state) {
    for (int64_t i = 0; i < kMnistImages / kBatch; ++i) {
      iterator.next_row(row);
      benchmark::DoNotOptimize(row.front().raw());
    }
  }
}

// Compiled for several vector widths, as compiled map functions use the widest of the machine.
[[gnu::target_clones("avx512f", "avx2", "default")]] void scale(
    const unsigned char* __restrict pixels, float* __restrict out) {
  for (int64_t i = 0; i < kPixels; ++i)
    out[i] = static_cast<float>(pixels[i]) * (1.0F / 255) - 0.5F;
}

// Reads, checks and scales records in order, directly into a reused batch.
void by_hand(benchmark::State& state) {
  std::vector<float> batch(static_cast<size_t>(kBatch * kPixels));
  for (auto _ : state) {
    st::RecordReader reader(st::local_file_system(), records());
    size_t row = 0;
    while (const auto record = reader.next()) {
      // The pixels are the longest feature and are stored uncompressed in the record.
      const auto* pixels =
          reinterpret_cast<const unsigned char*>(record->data()) + (record->size() - kPixels) / 2;
      scale(pixels, batch.data() + row * kPixels);
      row = (row + 1) % static_cast<size_t>(kBatch);
    }
    benchmark::DoNotOptimize(batch.data());
  }
}

// Copies as many bytes as a batch has, at the speed of memory.
void copied(benchmark::State& state) {
  const std::vector<float> from(static_cast<size_t>(kMnistImages * kPixels), 1.0F);
  const size_t bytes = static_cast<size_t>(kBatch * kPixels) * sizeof(float);
  for (auto _ : state) {
    for (int64_t i = 0; i < kMnistImages / kBatch; ++i) {
      const st::Tensor batch(st::DType::f32, {kBatch, kPixels});
      std::memcpy(const_cast<void*>(batch.raw()), from.data() + i * kBatch * kPixels, bytes);
      benchmark::DoNotOptimize(batch.raw());
    }
  }
}

// A dataset in memory, with a shuffle buffer of its full size.
void from_memory(benchmark::State& state) {
  st::FileSystem& fs = st::local_file_system();
  const st::Tensor images = st::read_idx(fs, mnist_folder() + "/train-images-idx3-ubyte");
  const st::Tensor labels = st::read_idx(fs, mnist_folder() + "/train-labels-idx1-ubyte");
  drain(state,
        st::Dataset::from_tensor_slices(st::Element::tuple({images, labels}))
            .map([](st::Output image, st::Output label) {
              return st::Nest<st::Output>::tuple(
                  {st::cast(image, st::DType::f32) * (1.0 / 255), st::cast(label, st::DType::s64)});
            })
            .shuffle(kMnistImages, {.seed = 1})
            .batch(kBatch)
            .prefetch(2));
}

// About 20 microseconds of arithmetic.
double work_of(int64_t seed) {
  double x = static_cast<double>(seed);
  for (int i = 0; i < 6000; ++i) x = x * 1.0000001 + 0.5;
  return x;
}
constexpr int64_t kItems = 4000;

void mapped(benchmark::State& state, int64_t workers) {
  drain(state,
        st::Dataset::range(kItems).map_cpp(
            [](const st::Element& x) { return st::Tensor(work_of(x.leaf().item<int64_t>())); },
            st::TensorType{st::DType::f64, {}}, {.num_parallel_calls = workers}));
}

void plain_threads(benchmark::State& state, int64_t workers) {
  for (auto _ : state) {
    std::vector<std::thread> threads;
    for (int64_t w = 0; w < workers; ++w) {
      threads.emplace_back([=] {
        for (int64_t i = w; i < kItems; i += workers) benchmark::DoNotOptimize(work_of(i));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

}  // namespace

void add_input_figures() {
  const double images = 1e-6 * static_cast<double>(kMnistImages);
  const int64_t in_whole_batches = kMnistImages / kBatch * kBatch;
  add({.name = "mnist.pipeline",
       .unit = "Mimages/s",
       .work = images,
       .ours = from_records,
       .limit = by_hand});
  add({.name = "mnist.pipeline.cached",
       .unit = "Mimages/s",
       .work = 1e-6 * static_cast<double>(in_whole_batches),
       .ours = from_cache,
       .limit = copied});
  add({.name = "dataloader.mnist", .unit = "Mimages/s", .work = images, .ours = from_memory});
  for (const int64_t workers : {1, 2}) {
    add({.name = fmt::format("map.workers.{}", workers),
         .unit = "kitems/s",
         .work = 1e-3 * kItems,
         .ours = [=](benchmark::State& state) { mapped(state, workers); },
         .limit = [=](benchmark::State& state) { plain_threads(state, workers); }});
  }
}

}  // namespace bench
