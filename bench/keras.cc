// Keras: the IMDB program's training step, its first batch, and what fit() costs beside the device.
#include "bench/keras.h"

#include <omp.h>

#include <chrono>
#include <ctime>
#include <oneapi/dnnl/dnnl.hpp>

#include "bench/figures.h"
#include "systole/backends/cpu/kernels/onednn_version.h"
#include "systole/keras/keras.h"
#include "systole/systole.h"

namespace bench {
namespace {

namespace keras = st::keras;
using SteadyClock = std::chrono::steady_clock;

constexpr int64_t kWords = 15000;
constexpr int64_t kDepth = 32;
constexpr int64_t kUnits = 100;
constexpr int64_t kTime = 250;
constexpr int64_t kBatch = 64;

keras::Sequential imdb_model() {
  keras::clear_session();
  keras::Sequential model;
  model.add(keras::layers::Embedding(kWords, kDepth, {.input_length = kTime}));
  model.add(keras::layers::LSTM(kUnits));
  model.add(keras::layers::Dense(1, {.activation = "sigmoid"}));
  model.compile({.optimizer = "adam", .loss = "binary_crossentropy", .metrics = {"accuracy"}});
  return model;
}

// Reviews of random words.
keras::Arrays reviews(int64_t count) {
  st::Tensor x(st::DType::s32, {count, kTime});
  st::Tensor y(st::DType::f32, {count, 1});
  uint32_t state = 1;
  for (int32_t& word : x.data<int32_t>()) {
    state = state * 1664525U + 1013904223U;
    word = static_cast<int32_t>((state >> 8) % kWords);
  }
  for (float& label : y.data<float>()) {
    state = state * 1664525U + 1013904223U;
    label = static_cast<float>(state >> 31);
  }
  return {{x}, {y}, {}};
}

constexpr int64_t kSteps = 32;  // of a timed epoch

// Seconds of an epoch of kSteps steps after one that compiles.
void train_imdb(benchmark::State& state) {
  const keras::Sequential model = imdb_model();
  const keras::Arrays data = reviews(kSteps * kBatch);
  const keras::FitOptions options{.batch_size = kBatch, .verbose = 0};
  model.fit(data.x, data.y, options);
  for (auto _ : state) model.fit(data.x, data.y, options);
}

struct Product {
  int64_t m, k, n;
  int64_t times;
};

// The products of a training step: of the inputs and of the state, forward, and the gradients by
// inputs, state and both kernels.
constexpr Product kProducts[] = {
    {kTime * kBatch, kDepth, 4 * kUnits, 1}, {kBatch, kUnits, 4 * kUnits, kTime},
    {kBatch, 4 * kUnits, kUnits, kTime},     {kTime * kBatch, 4 * kUnits, kDepth, 1},
    {kDepth, kTime* kBatch, 4 * kUnits, 1},  {kUnits, kTime* kBatch, 4 * kUnits, 1}};

// The products alone, by oneDNN, kSteps times.
void products(benchmark::State& state) {
  using dnnl::memory;
  omp_set_num_threads(omp_get_num_procs());
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  struct Call {
    dnnl::matmul matmul;
    std::unordered_map<int, memory> arguments;
    int64_t times;
  };
  std::vector<Call> calls;
  for (const Product& p : kProducts) {
    const auto desc = [](int64_t rows, int64_t columns) {
      return memory::desc({rows, columns}, memory::data_type::f32, memory::format_tag::ab);
    };
    const memory::desc a = desc(p.m, p.k);
    const memory::desc b = desc(p.k, p.n);
    const memory::desc c = desc(p.m, p.n);
    calls.push_back({dnnl::matmul(st::cpu::describe<dnnl::matmul>({}, engine, a, b, c)),
                     {{DNNL_ARG_SRC, memory(a, engine)},
                      {DNNL_ARG_WEIGHTS, memory(b, engine)},
                      {DNNL_ARG_DST, memory(c, engine)}},
                     p.times});
  }
  for (auto _ : state) {
    for (int64_t step = 0; step < kSteps; ++step) {
      for (const Call& call : calls) {
        for (int64_t i = 0; i < call.times; ++i) call.matmul.execute(stream, call.arguments);
      }
    }
    stream.wait();
  }
}

constexpr int64_t kSmallSteps = 20000;

// The processor time of fit()'s thread for a model with one weight and batches of one number.
void host_work(benchmark::State& state) {
  keras::clear_session();
  keras::Sequential model;
  model.add(keras::layers::Dense(1, {.use_bias = false, .input_shape = st::Shape{1}}));
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const st::Tensor x = st::Tensor::zeros(st::DType::f32, {kSmallSteps, 1});
  const keras::FitOptions options{.batch_size = 1, .verbose = 0};
  model.fit(x, x, options);
  for (auto _ : state) {
    const auto seconds = [] {
      timespec now{};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
      return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
    };
    const double start = seconds();
    model.fit(x, x, options);
    state.SetIterationTime(seconds() - start);
  }
}

}  // namespace

double seconds_to_compile_imdb_lstm() {
  const keras::Arrays data = reviews(kBatch);
  const auto start = SteadyClock::now();
  const keras::Sequential model = imdb_model();
  model.train_on_batch(data.x, data.y);
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

void add_keras_figures() {
  add({.name = "keras.imdb_lstm",
       .unit = "ms",
       .per = kSteps,
       .ours = train_imdb,
       .limit = products,
       .repetitions = 5});
  add({.name = "keras.fit.host_work",
       .unit = "us",
       .per = kSmallSteps,
       .ours = host_work,
       .manual_time = true,
       .repetitions = 5});
}

}  // namespace bench
