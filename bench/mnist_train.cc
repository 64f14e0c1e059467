#include "bench/mnist_train.h"

#include <chrono>
#include <ctime>
#include <filesystem>
#include <memory>

#include "bench/figures.h"
#include "bench/mnist_files.h"
#include "bench/mnist_model.h"
#include "systole/systole.h"

namespace bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Records the end of each loop.
class LoopEnds : public st::SessionRunHook {
 public:
  void after_run(st::RunContext&, std::span<const st::Tensor>) override {
    ends.push_back(SteadyClock::now());
  }
  std::vector<SteadyClock::time_point> ends;
};

std::vector<SteadyClock::time_point> train(const MnistTraining& training) {
  const std::string folder =
      (std::filesystem::temp_directory_path() / "systole_bench_model").string();
  std::filesystem::remove_all(folder);
  auto ends = std::make_shared<LoopEnds>();
  {
    st::RunConfig config{.model_dir = folder,
                         .save_summary_steps = training.writes ? training.iterations : 0,
                         .save_checkpoints_steps = training.writes ? training.iterations : 0,
                         .tpu_config = st::TPUConfig{training.iterations, 8}};
    st::TPUEstimator estimator(
        {.model_fn = mnist_model_fn, .config = config, .train_batch_size = training.batch});
    estimator.train(
        [&](const st::Params& params) {
          const int64_t batch_size = params["batch_size"];
          return st::TFRecordDataset(mnist_folder() + "/train.tfrecords")
              .map(parse_mnist)
              .cache()
              .repeat()
              .batch(batch_size, /*drop_remainder=*/true);
        },
        {.steps = training.iterations * training.loops, .hooks = {ends}});
  }
  std::filesystem::remove_all(folder);
  return ends->ends;
}

void train_rate(benchmark::State& state, const MnistTraining& training) {
  for (auto _ : state) state.SetIterationTime(seconds_to_train_mnist(training));
}

constexpr int64_t kLoopsTimed = 5000;
constexpr int64_t kLoopsBefore = 500;

// Measures the processor time of the training thread after the untimed loops. Waiting for input
// does not count.
class ThreadTime : public st::SessionRunHook {
 public:
  void after_run(st::RunContext& context, std::span<const st::Tensor>) override {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    last_ = static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
    if (context.global_step() == kLoopsBefore) first_ = last_;
  }
  double seconds() const { return last_ - first_; }

 private:
  double first_ = 0;
  double last_ = 0;
};

// Times loops of one step of a model with one number: the work of the host per loop, plus the short
// run of the program.
void host_work(benchmark::State& state) {
  const auto tiny_model = [](const st::Nest<st::Output>& features, const st::Nest<st::Output>&,
                             st::Mode mode, const st::Params&) -> st::TPUEstimatorSpec {
    const st::Variable w(1.0F, {.name = "w"});
    const st::Output loss = st::reduce_mean(st::square(st::multiply(features, w)));
    auto optimizer = st::CrossShardOptimizer(st::GradientDescentOptimizer(0.001));
    return {.mode = mode,
            .loss = loss,
            .train_op = optimizer.minimize(loss, {.global_step = st::get_global_step()})};
  };
  const st::RunConfig config{.save_summary_steps = 0,
                             .save_checkpoints_steps = 0,
                             .log_step_count_steps = 0,
                             .tpu_config = st::TPUConfig{1, 8}};
  for (auto _ : state) {
    auto spent = std::make_shared<ThreadTime>();
    st::TPUEstimator estimator({.model_fn = tiny_model, .config = config, .train_batch_size = 8});
    estimator.train(
        [](const st::Params&) {
          return st::Dataset::from_tensors(st::Tensor::zeros(st::DType::f32, {8})).repeat();
        },
        {.steps = kLoopsBefore + kLoopsTimed, .hooks = {spent}});
    state.SetIterationTime(spent->seconds());
  }
}

}  // namespace

double seconds_to_train_mnist(const MnistTraining& training) {
  const auto ends = train(training);
  return std::chrono::duration<double>(ends.back() - ends.front()).count();
}

void add_mnist_train_figures() {
  const auto rate = [](MnistTraining training, bool writes) {
    training.writes = writes;
    return [training](benchmark::State& state) { train_rate(state, training); };
  };
  const MnistTraining rare{.batch = 128, .iterations = 100, .loops = 2};
  add({.name = "mnist.train_every_100",
       .unit = "images/s",
       .work = static_cast<double>(rare.timed_images()),
       .ours = rate(rare, true),
       .manual_time = true,
       .limit = rate(rare, false),
       .repetitions = 3});
  const MnistTraining often;
  add({.name = "mnist.train",
       .unit = "images/s",
       .work = static_cast<double>(often.timed_images()),
       .ours = rate(often, true),
       .manual_time = true,
       .limit = rate(often, false),
       .repetitions = 3});
  add({.name = "mnist.host_work",
       .unit = "us",
       .per = static_cast<double>(kLoopsTimed),
       .ours = host_work,
       .manual_time = true,
       .repetitions = 5});
}

}  // namespace bench
