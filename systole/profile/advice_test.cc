// Recordings of programs with one bottleneck each: the first advice names it.
#include <gmock/gmock.h>

#include <cmath>

#include "systole/profile/analysis.h"

namespace systole::profile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using tracing::Kind;

const DevicePeaks kFourCores{
    .name = "a CPU", .cores = 4, .flops_per_second = 2e11, .bytes_per_second = 2e10};

// A training that runs the same loop several times: it waits for input, launches `steps` steps of a
// program, and works on the host. Times are in microseconds.
struct Training {
  std::vector<tracing::Op> ops = {};
  std::vector<int64_t> op_us = {};  // of each op in a step
  int replicas = 1;
  int steps = 10;
  int64_t launch_us = 20;  // of a launch, without its steps
  int64_t input_us = 0;
  int64_t host_us = 0;
  std::vector<tracing::Stage> stages = {};
};

class Recorder {
 public:
  explicit Recorder(const Training& training) : training_(training) {
    auto program = std::make_shared<tracing::Program>();
    program->id = kProgram;
    program->name = "steps";
    program->replicas = training.replicas;
    program->ops = training.ops;
    recording_.programs[kProgram] = program;
    recording_.inputs = {training.stages};
    for (int loop = 0; loop < kLoops; ++loop) add_loop(loop);
    recording_.threads.push_back(thread_);
    recording_.duration_ns = now_;
  }

  tracing::Recording take() { return std::move(recording_); }

 private:
  static constexpr int64_t kProgram = 1;
  static constexpr int kLoops = 3;

  void add(const char* name, Kind kind, int64_t begin, tracing::Arg a = {}, tracing::Arg b = {}) {
    thread_.events.push_back(
        {.begin = begin, .end = now_, .name = name, .kind = kind, .args = {a, b}});
  }

  void advance(int64_t us) { now_ += 1000 * us; }

  // The first step of a launch notes its ops.
  void add_step(bool notes_ops) {
    const int64_t begin = now_;
    for (size_t i = 0; i < training_.ops.size(); ++i) {
      const int64_t op = now_;
      advance(training_.op_us[i]);
      if (notes_ops) {
        add(training_.ops[i].name.c_str(), Kind::op, op, {"program", kProgram},
            {"op", static_cast<int64_t>(i)});
      }
    }
    const auto noted = static_cast<int64_t>(notes_ops ? training_.ops.size() : 0);
    add("step", Kind::step, begin, {"program", kProgram}, {"ops", noted});
  }

  void add_loop(int number) {
    const int64_t begin = now_;
    advance(training_.input_us);
    if (training_.input_us > 0) add("wait for input", Kind::input_wait, begin);
    const int64_t launch = now_;
    for (int i = 0; i < training_.steps; ++i) add_step(i == 0);
    advance(training_.launch_us);
    add("launch", Kind::launch, launch, {"steps", training_.steps});
    const int64_t host = now_;
    advance(training_.host_us);
    if (training_.host_us > 0) add("host_call", Kind::host, host);
    add("loop", Kind::loop, begin, {"step", number * training_.steps}, {"steps", training_.steps});
  }

  const Training& training_;
  tracing::Recording recording_;
  tracing::ThreadEvents thread_{.name = "main", .id = 1};
  int64_t now_ = 0;
};

Analysis analysis_of(const Training& training) {
  return analyse(Recorder(training).take(), kFourCores);
}

// One product of [rows, size] and [size, size], which a TPU pads.
tracing::Op product(double rows, double size) {
  const double padded = 128 * std::ceil(size / 128);
  return {.name = "dot.0",
          .opcode = "dot_general",
          .category = "convolution",
          .scope = "dense/MatMul",
          .flops = 2 * rows * size * size,
          .bytes = 4 * (2 * rows * size + size * size),
          .padded_flops = 2 * rows * padded * padded,
          .rows = rows};
}

// Ops that take as long as this machine needs for them, so that there is nothing to advise.
Training balanced() {
  const tracing::Op op = product(2048, 1024);
  return {.ops = {op}, .op_us = {static_cast<int64_t>(1e6 * op.flops / 2e11) + 1}};
}

TEST(Advice, nothing_for_a_balanced_program) {
  EXPECT_THAT(analysis_of(balanced()).advice, IsEmpty());
}

TEST(Advice, a_slow_map) {
  Training training = balanced();
  training.input_us = 4 * training.steps * training.op_us[0];
  training.stages = {
      {.name = "batch", .elements = 30, .busy_seconds = 0.002, .remedy = "nothing"},
      {.name = "map", .depth = 1, .elements = 480, .busy_seconds = 0.5, .remedy = "hurry"}};
  const Analysis a = analysis_of(training);
  ASSERT_EQ(a.advice.size(), 1U);
  EXPECT_EQ(a.advice[0].topic, "input");
  EXPECT_NEAR(a.advice[0].gain, 0.8, 0.01);
  EXPECT_THAT(a.advice[0].text, HasSubstr("The slowest stage is map"));
}

TEST(Advice, a_tiny_batch) {
  // Reads 4 MB of weights for two rows: at the bandwidth of the machine, far from its FLOP/s.
  const Analysis a = analysis_of({.ops = {product(2, 1024)}, .op_us = {220}});
  ASSERT_FALSE(a.advice.empty());
  EXPECT_EQ(a.advice[0].topic, "batch");
  EXPECT_THAT(a.advice[0].text, HasSubstr("The batch is tiny"));
}

// Padding costs a TPU, and nothing on the CPU that ran it: it is said last, and gains nothing.
TEST(Advice, padding_on_a_virtual_tpu) {
  const tracing::Op op = product(2048, 130);
  const Analysis a = analysis_of({.ops = {op}, .op_us = {1000}});
  ASSERT_GT(a.advice.size(), 1U);
  const Advice& last = a.advice.back();
  EXPECT_EQ(last.topic, "padding");
  EXPECT_EQ(last.gain, 0);
  EXPECT_THAT(last.text, AllOf(HasSubstr("not for this machine"), HasSubstr("multiples of 128")));
}

TEST(Advice, a_host_call) {
  Training training = balanced();
  training.host_us = training.steps * training.op_us[0];
  const Analysis a = analysis_of(training);
  ASSERT_FALSE(a.advice.empty());
  EXPECT_EQ(a.advice[0].topic, "host");
  EXPECT_THAT(a.advice[0].text, HasSubstr("host_call"));
}

// The gradient of each replica is an array as large as the weights.
TEST(Advice, an_all_reduce) {
  Training training = balanced();
  training.replicas = 8;
  training.ops.push_back({.name = "sum.1",
                          .opcode = "reduce",
                          .category = "all-reduce",
                          .scope = "CrossReplicaSum",
                          .flops = 1.6e7,
                          .bytes = 6.4e7});
  training.op_us.push_back(training.op_us[0]);
  const Analysis a = analysis_of(training);
  ASSERT_EQ(a.advice.size(), 1U);
  EXPECT_EQ(a.advice[0].topic, "all-reduce");
  EXPECT_THAT(a.advice[0].text, HasSubstr("on 8 replicas"));
}

TEST(Advice, short_launches) {
  const Analysis a = analysis_of(
      {.ops = {product(2048, 1024)}, .op_us = {22'000}, .steps = 1, .launch_us = 11'000});
  ASSERT_FALSE(a.advice.empty());
  EXPECT_EQ(a.advice[0].topic, "launch");
  EXPECT_THAT(a.advice[0].text, HasSubstr("at 1 steps a launch"));
}

}  // namespace
}  // namespace systole::profile
