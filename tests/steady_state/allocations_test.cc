// After a step has been compiled and run, another step allocates no host memory.
#include <gtest/gtest.h>

#include <memory>

#include "systole/systole.h"
#include "tests/steady_state/allocation_counter.h"

namespace systole::testing {
namespace {

constexpr int kWarmUp = 3;
constexpr int kSteps = 100;

TEST(AllocationCounter, CountsEveryKind) {
  void* memory = nullptr;
  const int64_t count = allocations_of([&] {
    const auto aligned =
        std::make_unique<Tensor>(DType::f32, Shape{64});  // itself, block, elements
    memory = std::realloc(std::malloc(8), 10000);
  });
  std::free(memory);
  EXPECT_EQ(count, 5);
  EXPECT_EQ(allocations_of([] {}), 0);
}

// A classifier of one hidden layer and its training step, on one batch.
class TrainingStep {
 public:
  TrainingStep(int64_t batch, int64_t inputs, int64_t hidden, int64_t classes)
      : batch_x_(Tensor::full(DType::f32, {batch, inputs}, 0.5)),
        batch_y_(Tensor::full(DType::f32, {batch, classes}, 1.0 / static_cast<double>(classes))) {
    const GraphScope scope(*graph_);
    set_random_seed(42);
    x_ = placeholder("float", {-1, inputs});
    y_ = placeholder("float", {-1, classes});
    const Variable w_1(random_normal({inputs, hidden}, {.stddev = 0.1}));
    const Variable w_2(random_normal({hidden, classes}, {.stddev = 0.1}));
    const Output logits = matmul(sigmoid(matmul(x_, w_1)), w_2);
    loss_ = reduce_mean(softmax_cross_entropy_with_logits({.labels = y_, .logits = logits}));
    update_ = GradientDescentOptimizer(0.01).minimize(loss_);
    session_ = std::make_unique<Session>("", SessionConfig{.graph = graph_.get()});
    session_->run(global_variables_initializer());
  }

  int64_t allocations_of_run() {
    return allocations_of_steps([&] { session_->run(update_, {{x_, batch_x_}, {y_, batch_y_}}); });
  }
  int64_t allocations_of_run_with_loss() {
    return allocations_of_steps([&] {
      session_->run({update_, loss_}, {{x_, batch_x_}, {y_, batch_y_}});
    });
  }
  int64_t allocations_of_callable() {
    auto train = session_->make_callable({update_, loss_}, {x_, y_});
    return allocations_of_steps([&] { train({batch_x_, batch_y_}); });
  }

 private:
  template <class Step>
  static int64_t allocations_of_steps(const Step& step) {
    for (int i = 0; i < kWarmUp; ++i) step();
    return allocations_of([&] {
      for (int i = 0; i < kSteps; ++i) step();
    });
  }

  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  Output x_, y_, loss_;
  Operation update_;
  std::unique_ptr<Session> session_;
  Tensor batch_x_, batch_y_;
};

// The step of examples/iris_session.cc: one function, small products inlined.
TEST(Allocations, NoneInAStepOfIris) {
  TrainingStep iris(1, 5, 256, 3);
  EXPECT_EQ(iris.allocations_of_run(), 0);
  EXPECT_EQ(iris.allocations_of_callable(), 0);
}

// Products in oneDNN (whose allocations are not counted) and loops in the thread pool.
TEST(Allocations, NoneInAStepOfALargeProgram) {
  TrainingStep large(128, 784, 512, 10);
  EXPECT_EQ(large.allocations_of_run(), 0);
  EXPECT_EQ(large.allocations_of_callable(), 0);
}

// A run allocates its results: the vector and the loss. A callable reuses its memory.
TEST(Allocations, AFetchedValueIsTheCallers) {
  TrainingStep iris(1, 5, 256, 3);
  EXPECT_EQ(iris.allocations_of_run_with_loss(), 2 * kSteps);
}

}  // namespace
}  // namespace systole::testing
