// Training steps while other processes use the machine: with the default number of threads, beside
// one thread.
#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "bench/cnn_step.h"
#include "bench/figures.h"
#include "systole/systole.h"

namespace bench {
namespace {

// Processes that compute without end while this lives.
class Neighbours {
 public:
  explicit Neighbours(int count) {
    for (int i = 0; i < count; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (volatile unsigned turn = 0;;) turn = turn + 1;
      }
      if (child > 0) children_.push_back(child);
    }
  }
  ~Neighbours() {
    for (const pid_t child : children_) kill(child, SIGKILL);
    for (const pid_t child : children_) waitpid(child, nullptr, 0);
  }
  Neighbours(const Neighbours&) = delete;

 private:
  std::vector<pid_t> children_;
};

// A compiled step; 0 threads are the backend's choice.
using Step = std::function<void()>;
using MakeStep = Step (*)(int num_threads);

Step cnn(int num_threads) {
  auto step = std::make_shared<CnnStep>(st::DType::f32, "", num_threads);
  auto train = std::make_shared<st::Session::Callable>(
      step->session->make_callable({step->updates}, {step->images, step->labels}));
  return [=] { (*train)(step->batch); };
}

// A graph, its session, and a step of it.
struct Program {
  st::Graph graph;
  std::unique_ptr<st::Session> session;
  std::unique_ptr<st::Session::Callable> step;
  std::vector<st::Tensor> inputs;

  void compile(int num_threads, const st::Fetch& target, const std::vector<st::Output>& feeds) {
    session = std::make_unique<st::Session>(
        "", st::SessionConfig{.graph = &graph, .num_threads = num_threads});
    session->run(st::global_variables_initializer());
    step = std::make_unique<st::Session::Callable>(session->make_callable({target}, feeds));
  }
};

// 80 steps of 128 units, batch 32.
Step lstm(int num_threads) {
  constexpr int64_t kBatch = 32;
  constexpr int64_t kTime = 80;
  constexpr int64_t kUnits = 128;
  auto program = std::make_shared<Program>();
  const st::GraphScope scope(program->graph);
  const st::Output x = st::placeholder(st::DType::f32, {kBatch, kTime, kUnits});
  const auto result = st::nn::dynamic_rnn(st::nn::rnn_cell::LSTMCell(kUnits), x);
  const st::Output loss = st::reduce_mean(st::square(result.outputs));
  const st::Operation update = st::GradientDescentOptimizer(0.01).minimize(loss);
  program->inputs = {st::Tensor::full(st::DType::f32, {kBatch, kTime, kUnits}, 0.5)};
  program->compile(num_threads, update, {x});
  return [=] { (*program->step)(program->inputs); };
}

// 1,000 convolutions of 74 kFLOP, one after the other.
Step small_convolutions(int num_threads) {
  auto program = std::make_shared<Program>();
  const st::GraphScope scope(program->graph);
  const st::Output x = st::placeholder(st::DType::f32, {1, 8, 8, 8});
  const st::Variable kernel(st::fill({3, 3, 8, 8}, 0.01F));
  st::Output y = x;
  for (int i = 0; i < 1000; ++i) y = st::conv2d(y, kernel, {.padding = st::Padding::same});
  program->inputs = {st::Tensor::full(st::DType::f32, {1, 8, 8, 8}, 0.5)};
  program->compile(num_threads, st::Fetch(y), {x});
  return [=] { (*program->step)(program->inputs); };
}

// Steps are compiled once, for all rows of their model.
const Step& compiled(MakeStep make, int num_threads) {
  static std::map<std::pair<MakeStep, int>, Step> steps;
  Step& step = steps[{make, num_threads}];
  if (step == nullptr) {
    step = make(num_threads);
    step();
  }
  return step;
}

void measure(benchmark::State& state, MakeStep make, int num_threads, int neighbours, int steps) {
  const Step& step = compiled(make, num_threads);
  const Neighbours others(neighbours);
  for (int i = 0; i < steps / 4; ++i) step();
  for (auto _ : state) {
    for (int i = 0; i < steps; ++i) step();
  }
}

}  // namespace

void add_busy_figures() {
  struct Model {
    const char* name;
    MakeStep make;
    int steps;  // of a measurement, which takes about half a second
  };
  constexpr Model kModels[] = {
      {"mnist_cnn", cnn, 12}, {"lstm", lstm, 40}, {"small_convs", small_convolutions, 200}};
  for (const Model& model : kModels) {
    for (const int neighbours : {0, 2, 4, 6}) {
      const auto body = [=](int num_threads) {
        return [=](benchmark::State& state) {
          measure(state, model.make, num_threads, neighbours, model.steps);
        };
      };
      add({.name = fmt::format("busy.{}.{}", model.name, neighbours),
           .unit = "ms",
           .per = static_cast<double>(model.steps),
           .ours = body(0),
           .limit = body(1),
           .repetitions = 5});
    }
  }
}

}  // namespace bench
