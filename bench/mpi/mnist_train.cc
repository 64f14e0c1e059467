// The rate of MNIST training with one core a process: run by mpirun, by bench/mpi/mnist_train.sh.
// Prints the images per second of all processes.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>

#include "bench/mnist_model.h"
#include "systole/base/random.h"
#include "systole/runtime/process_group.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kBatch = 128;  // of a process
constexpr int64_t kSteps = 20;   // of a loop; the first loop compiles and is not timed
constexpr int64_t kLoops = 3;

class LoopEnds : public st::SessionRunHook {
 public:
  void after_run(st::RunContext&, std::span<const st::Tensor>) override {
    ends.push_back(Clock::now());
  }
  std::vector<Clock::time_point> ends;
};

st::Dataset examples() {
  constexpr int64_t kImages = 1024;
  st::Tensor images(st::DType::f32, {kImages, 784});
  st::Tensor labels(st::DType::s32, {kImages});
  st::RandomStream random(1);
  for (float& x : images.data<float>()) x = static_cast<float>(random.next_uniform()) - 0.5F;
  for (int32_t& y : labels.data<int32_t>()) y = static_cast<int32_t>(random.next_below(10));
  return st::Dataset::from_tensor_slices(st::Element::tuple({images, labels})).repeat();
}

}  // namespace

int main() {
  const systole::runtime::ProcessGroup* const group = systole::runtime::process_group();
  const int64_t processes = group == nullptr ? 1 : group->size();
  const int rank = group == nullptr ? 0 : group->rank();
  const auto folder =
      std::filesystem::temp_directory_path() / ("systole_mpi_bench_" + std::to_string(getpid()));
  auto ends = std::make_shared<LoopEnds>();
  {
    st::TPUEstimator estimator({.model_fn = bench::mnist_model_fn,
                                .model_dir = folder.string(),
                                .config = {.master = "local:1",
                                           .tf_random_seed = 1,
                                           .save_summary_steps = 0,
                                           .save_checkpoints_steps = kSteps * kLoops,
                                           .log_step_count_steps = 0,
                                           .session_config = {.num_threads = 1},
                                           .tpu_config = {.iterations_per_loop = kSteps}},
                                .train_batch_size = kBatch * processes});
    estimator.train(
        [](const st::Params& params) {
          return examples().batch(params["batch_size"], /*drop_remainder=*/true);
        },
        {.steps = kSteps * kLoops, .hooks = {ends}});
  }
  std::filesystem::remove_all(folder);
  if (rank > 0) return 0;
  const std::chrono::duration<double> seconds = ends->ends.back() - ends->ends.front();
  std::printf("%.1f\n",
              static_cast<double>(kBatch * processes * kSteps * (kLoops - 1)) / seconds.count());
  return 0;
}
