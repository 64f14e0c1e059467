// The training loop as a front end with epochs and callbacks uses it.
#include "systole/train/loop/train_loop.h"

#include <gmock/gmock.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include "systole/base/log.h"
#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/random_ops.h"
#include "systole/train/loop/signals.h"
#include "systole/train/optimizer.h"

namespace systole::train {
namespace {

using systole::testing::error_of;
using systole::testing::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using End = TrainLoop::End;

// Batches of 4 of the numbers 0, 1, ... n - 1, in another order in each epoch.
Dataset numbers(int64_t n) {
  Tensor x(DType::f32, {n});
  for (int64_t i = 0; i < n; ++i)
    x.data<float>()[i] = static_cast<float>(i) / static_cast<float>(n);
  return Dataset::from_tensor_slices(Element(x)).shuffle(n, {.seed = 7}).batch(4, true);
}

// A callback that wants to run after every `every` steps.
class Callback : public SessionRunHook {
 public:
  explicit Callback(int64_t every) : every_(every) {}
  int64_t steps_to_next_run(int64_t global_step) const override {
    return every_ - global_step % every_;
  }
  void after_run(RunContext& context, std::span<const Tensor>) override {
    ends.push_back(context.global_step());
  }
  std::string state_name() const override { return "callback"; }
  std::string save_state() const override { return std::to_string(ends.size()); }
  void restore_state(std::string_view state) override { restored = state; }

  std::vector<int64_t> ends;
  std::string restored;

 private:
  int64_t every_;
};

// Allows loops of 8 steps, but says `first` when it is asked about a step for the first time. A
// hook that goes by the clock may answer so: fewer steps are then read ahead than the loop has.
class Uneven : public SessionRunHook {
 public:
  explicit Uneven(int64_t first) : first_(first) {}
  int64_t steps_to_next_run(int64_t global_step) const override {
    return std::exchange(asked_, global_step) == global_step ? 8 : first_;
  }

 private:
  int64_t first_;
  mutable int64_t asked_ = -1;
};

// A model of one weight, with noise, Adam's slots and what else must survive a restart.
struct Fit {
  Fit(const std::string& folder, const HookList& hooks, const Dataset& input,
      const std::function<void(TrainLoopOptions&)>& change = nullptr) {
    Variable w;
    Operation train_op;
    TrainLoopOptions options{.graph = graph};
    {
      const GraphScope scope(*graph);
      const Output x = placeholder(DType::f32, {4}, "x");
      w = Variable(0.5F, {.name = "w"});
      const Output noise = random_uniform({4}, {.seed = 3});
      options.step = {.inputs = {x}, .loss = reduce_mean(square(w * x + noise * 0.1F - x * 2.0F))};
      train_op = AdamOptimizer(0.05).minimize(options.step.loss,
                                              {.global_step = get_or_create_global_step()});
    }
    options.complete_graph = [=] { return std::vector<Operation>{train_op}; };
    options.make_session = [this] {
      auto session =
          std::make_unique<Session>("", SessionConfig{.graph = graph.get(), .entropy = 5});
      const GraphScope scope(*graph);
      session->run({variables_initializer(local_variables())});
      return session;
    };
    options.initialize = [](Session& session) { session.run({global_variables_initializer()}); };
    options.input = {.datasets = {input}, .replica_batch = 4, .name = "fit"};
    options.entropy = 5;
    options.hooks = hooks;
    options.records = {.directory = folder, .save_checkpoints_steps = 1000};
    if (change) change(options);
    loop = std::make_shared<TrainLoop>(std::move(options));
    weight = w;
  }

  End run_until(int64_t step, int64_t read_until = 0) {
    Heartbeat heartbeat(0);
    return loop->run_until(step, heartbeat, read_until);
  }
  void finish() {
    Heartbeat heartbeat(0);
    loop->finish(heartbeat);
  }
  float w() { return loop->session().variable_value(weight).item<float>(); }

  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  std::shared_ptr<TrainLoop> loop;
  Variable weight;
};

class TrainLoopTest : public ::testing::Test {
 protected:
  std::string folder(const std::string& name) {
    std::filesystem::create_directories(folder_ / name);
    return folder_ / name;
  }
  const TempFolder folder_;
};

TEST_F(TrainLoopTest, EndsWithTheInput) {
  const auto callback = std::make_shared<Callback>(1);
  Fit fit(folder("model"), {callback}, numbers(12));
  for (int64_t call = 0; call < 2; ++call) {
    EXPECT_EQ(fit.run_until(INT64_MAX), End::input);
    EXPECT_EQ(fit.loop->global_step(), 3);
  }
  EXPECT_NE(fit.w(), 0.5F);
  fit.finish();
  EXPECT_THAT(callback->ends, ElementsAre(1, 2, 3));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "model/model.ckpt-3.index"));
}

TEST_F(TrainLoopTest, ProcessesThatReadAheadUnevenlyLoseNoBatch) {
  // Returns the weight that two processes train, of which the second has this hook.
  const auto train = [&](const std::string& name, int64_t first) {
    auto steps = runtime::make_in_memory_collectives(2);
    auto rare = runtime::make_in_memory_collectives(2);
    std::array<float, 2> w{};
    std::vector<std::thread> threads;
    for (size_t r = 0; r < w.size(); ++r) {
      threads.emplace_back([&, r] {
        runtime::ProcessGroup group(std::move(steps[r]), std::move(rare[r]), nullptr);
        EXPECT_EQ(error_of([&] {
                    Fit fit(folder(name + std::to_string(r)),
                            {std::make_shared<Uneven>(r == 0 ? 8 : first)}, numbers(64).repeat(),
                            [&](TrainLoopOptions& options) { options.step.processes = &group; });
                    EXPECT_EQ(fit.run_until(60), End::steps);
                    w[r] = fit.w();
                    fit.finish();
                  }),
                  "no error");
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(w[0], w[1]);
    return w[0];
  };
  EXPECT_EQ(train("uneven", 3), train("even", 8));
}

// Though the input would take long to fill the loop.
TEST_F(TrainLoopTest, ASignalEndsALoopThatWaitsForItsInput) {
  auto signals = std::make_optional<StopSignals>();
  const auto read = std::make_shared<int64_t>(0);
  const Dataset input = Dataset::from_generator(
                            [read]() -> Dataset::Generator {
                              return [read]() -> std::optional<Element> {
                                if (++*read == 400) std::raise(SIGTERM);
                                return Element(Tensor::scalar(1.0F));
                              };
                            },
                            ElementSpec(TensorType{DType::f32, {}}))
                            .batch(4, true);
  Fit fit(folder("model"), {}, input,
          [](TrainLoopOptions& options) { options.iterations_per_loop = 1000; });
  EXPECT_EQ(fit.run_until(100'000), End::stopped);
  EXPECT_LE(fit.loop->global_step(), 100);
  fit.finish();
  EXPECT_LE(*read, 404) << "one step ahead";
  signals.reset();
  signals.emplace();  // forgets the signal
}

TEST_F(TrainLoopTest, EpochsOfSomeStepsContinueTheInput) {
  Fit in_epochs(folder("epochs"), {}, numbers(40));
  for (const int64_t end : {3, 6, 9}) EXPECT_EQ(in_epochs.run_until(end, 9), End::steps);
  Fit at_once(folder("once"), {}, numbers(40));
  EXPECT_EQ(at_once.run_until(9), End::steps);
  EXPECT_EQ(in_epochs.w(), at_once.w());
}

// A callback that needs no batch costs no launch: the loop is as long as it allows.
TEST_F(TrainLoopTest, LoopsAreAsLongAsCallbacksAllow) {
  const auto each = std::make_shared<Callback>(5);
  Fit fit(folder("model"), {each}, numbers(400));
  EXPECT_EQ(fit.run_until(23), End::steps);
  std::vector<int64_t> at_multiples;
  for (const int64_t end : each->ends) {
    if (end % 5 == 0 || end == 23) at_multiples.push_back(end);
  }
  EXPECT_THAT(at_multiples, ElementsAre(5, 10, 15, 20, 23));
}

TEST_F(TrainLoopTest, AStoppedRunContinuesExactly) {
  const auto stop_at = [](int64_t step) {
    return std::make_shared<StopAtStepHook>(StopAtStepHook::Options{.last_step = step});
  };
  Fit whole(folder("whole"), {}, numbers(40).repeat());
  whole.run_until(17);
  {
    const auto callback = std::make_shared<Callback>(1);
    Fit first(folder("parts"), {callback, stop_at(7)}, numbers(40).repeat());
    EXPECT_EQ(first.run_until(17), End::stopped);
    first.finish();
  }
  const auto callback = std::make_shared<Callback>(1);
  Fit second(folder("parts"), {callback}, numbers(40).repeat());
  EXPECT_EQ(second.loop->global_step(), 7);
  EXPECT_EQ(callback->restored, "7");
  EXPECT_EQ(second.run_until(17), End::steps);
  EXPECT_EQ(second.loop->steps_run(), 10);
  EXPECT_EQ(second.w(), whole.w());
}

TEST_F(TrainLoopTest, EveryStepIsObservedWhateverTheLaunches) {
  std::vector<int64_t> steps_seen;
  Fit fit(folder("model"), {}, numbers(400), [&](TrainLoopOptions& options) {
    options.step.each_step = {options.step.loss};
    options.iterations_per_loop = 7;
    options.on_steps = [&](const StepValues& steps, Heartbeat&) {
      EXPECT_EQ(steps.values[0].dim(0), steps.steps);
      for (int64_t s = 0; s < steps.steps; ++s) {
        steps_seen.push_back(steps.first + s);
        EXPECT_EQ(steps.in_loop, steps.first % 7);
      }
    };
  });
  fit.run_until(20);
  ASSERT_EQ(steps_seen.size(), 20U);
  for (int64_t s = 0; s < 20; ++s) EXPECT_EQ(steps_seen[s], s);
  EXPECT_TRUE(fit.loop->last_loss().has_value());
}

TEST_F(TrainLoopTest, AStepThatDoesNotCountIsRefused) {
  EXPECT_THAT(error_of([&] {
                Fit(folder("model"), {}, numbers(8), [](TrainLoopOptions& options) {
                  options.complete_graph = [] { return std::vector<Operation>{}; };
                });
              }),
              HasSubstr("variable 'global_step', got no assignment to it"));
}

}  // namespace
}  // namespace systole::train
