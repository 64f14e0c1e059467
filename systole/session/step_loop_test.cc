// Loops of steps: the same as single runs, the same on replicas as on the whole batch.
#include "systole/session/step_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <thread>

#include "systole/base/error.h"
#include "systole/base/random.h"
#include "systole/base/testing/error_of.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/graph/api/random_ops.h"
#include "systole/graph/api/tpu_collectives.h"
#include "systole/graph/gradients/gradients.h"
#include "systole/runtime/registry.h"
#include "systole/tracing/recorder.h"

namespace systole {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

Tensor random_floats(const Shape& shape, uint64_t seed) {
  RandomStream random(seed);
  Tensor result(DType::f32, shape);
  for (float& x : result.data<float>()) x = static_cast<float>(random.next_uniform() - 0.5);
  return result;
}

// [steps, replicas * batch, ...] as the loop takes it: [replicas, steps, batch, ...].
Tensor by_replica(const Tensor& batches, int64_t replicas) {
  Dims dims = batches.shape().dims();
  const int64_t steps = dims[0];
  const int64_t batch = dims[1] / replicas;
  dims[1] = batch;
  dims.insert(dims.begin(), replicas);
  Tensor result(batches.dtype(), Shape(dims));
  const auto block = static_cast<size_t>(batches.byte_size() / (steps * replicas));
  for (int64_t r = 0; r < replicas; ++r) {
    for (int64_t s = 0; s < steps; ++s) {
      std::memcpy(
          static_cast<std::byte*>(result.raw()) + static_cast<size_t>(r * steps + s) * block,
          static_cast<const std::byte*>(batches.raw()) +
              static_cast<size_t>(s * replicas + r) * block,
          block);
    }
  }
  return result;
}

double largest_difference(const Tensor& x, const Tensor& y) {
  EXPECT_EQ(x.type(), y.type());
  double most = 0;
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    most = std::max(most, std::abs(x.as_double(i) - y.as_double(i)));
  }
  return most;
}

class StepLoopTest : public ::testing::TestWithParam<std::string> {
 protected:
  SessionConfig config() { return {.graph = &graph_, .backend = GetParam(), .entropy = 7}; }

  Graph graph_;
  GraphScope scope_{graph_};
};

// A regression with dropout, whose gradients are averaged over replicas.
struct Model {
  Model() {
    x = placeholder(DType::f32, {-1, 8}, "x");
    y = placeholder(DType::f32, {-1, 1}, "y");
    w = Variable(random_normal({8, 1}, {.seed = 3}), {.name = "w"});
    b = Variable(zeros({1}), {.name = "b"});
    step = get_or_create_global_step();
    const Output prediction = add(matmul(dropout(x, 0.75), w), b);
    loss = reduce_mean(square(subtract(prediction, y)));
    const std::vector<Output> grads = gradients({loss}, {w.value(), b.value()});
    const Output replicas = tpu::cross_replica_sum(1.0F);
    std::vector<Operation> updates;
    for (const auto& [variable, grad] : {std::pair{w, grads[0]}, std::pair{b, grads[1]}}) {
      const Output mean = divide(tpu::cross_replica_sum(grad), replicas);
      updates.emplace_back(variable.assign_sub(multiply(mean, 0.1F)));
    }
    updates.emplace_back(step.assign_add(Tensor(int64_t{1})));
    train = group(updates);
  }

  StepLoopOptions loop(int replicas, int64_t batch, int64_t steps) const {
    return {
        .inputs = {x, y},
        .input_types = {{DType::f32, {batch / replicas, 8}}, {DType::f32, {batch / replicas, 1}}},
        .fetches = {loss},
        .targets = {train},
        .num_replicas = replicas,
        .max_steps = steps};
  }

  Output x, y, loss;
  Variable w, b, step;
  Operation train;
};

// Whether the backend marks them or not.
TEST_P(StepLoopTest, ARecordingHasEveryStep) {
  const Model model;
  Session session("local", config());
  session.run(global_variables_initializer());
  StepLoop loop(session, model.loop(2, 4, 5));
  const std::vector<Tensor> inputs = {random_floats({2, 5, 2, 8}, 1),
                                      random_floats({2, 5, 2, 1}, 2)};
  loop.run(inputs, 5);
  ASSERT_TRUE(tracing::start());
  loop.run(inputs, 3);
  const tracing::Recording recording = tracing::stop();
  std::vector<tracing::Event> steps;
  std::vector<tracing::Event> launches;
  for (const tracing::Event& event : recording.threads.at(0).events) {
    if (event.kind == tracing::Kind::step) steps.push_back(event);
    if (event.kind == tracing::Kind::launch) launches.push_back(event);
  }
  ASSERT_EQ(steps.size(), 3U);
  for (size_t i = 1; i < 3; ++i) EXPECT_GE(steps[i].begin, steps[i - 1].end);
  ASSERT_EQ(launches.size(), 1U);
  EXPECT_EQ(launches[0].arg("steps"), 3);
  EXPECT_LE(launches[0].begin, steps[0].begin);
  EXPECT_GE(launches[0].end, steps[2].end);
}

// The sum over the replicas is an op of its own where no product can make it.
TEST(StepLoopOnCpu, ARecordingTellsTheOpsWithTheirNodes) {
  Graph graph;
  const GraphScope scope(graph);
  const Output x = placeholder(DType::f32, {64}, "x");
  const Variable sum(zeros({64}), {.name = "sum"});
  const Output all = tpu::cross_replica_sum(tanh(x));
  Session session("local", {.graph = &graph});
  session.run(global_variables_initializer());
  StepLoop loop(session, {.inputs = {x},
                          .input_types = {x.type()},
                          .targets = {Operation(sum.assign(all))},
                          .num_replicas = 4});
  ASSERT_TRUE(tracing::start());
  loop.run({{Tensor::zeros(DType::f32, {4, 1, 64})}}, 1);
  const tracing::Recording recording = tracing::stop();
  ASSERT_EQ(recording.programs.size(), 1U);
  const tracing::Program& program = *recording.programs.begin()->second;
  EXPECT_EQ(program.replicas, 4);
  const auto reduces = [](const tracing::Op& op) { return op.category == "all-reduce"; };
  const auto found = std::ranges::find_if(program.ops, reduces);
  ASSERT_NE(found, program.ops.end());
  EXPECT_THAT(found->scope, HasSubstr("CrossReplicaSum"));
  EXPECT_THAT(found->source, HasSubstr("step_loop_test.cc:"));
}

TEST_P(StepLoopTest, IsAsManyRunsOfTheSession) {
  const Model model;
  const Tensor xs = random_floats({6, 16, 8}, 1);
  const Tensor ys = random_floats({6, 16, 1}, 2);
  Session one("", config());
  one.run(global_variables_initializer());
  Tensor loss;
  for (int64_t i = 0; i < 6; ++i) {
    loss = one.run({model.loss, model.train}, {{model.x, xs.slice(i, i + 1).reshape({16, 8})},
                                               {model.y, ys.slice(i, i + 1).reshape({16, 1})}})[0];
  }
  Session other("", config());
  other.run(global_variables_initializer());
  StepLoop loop(other, model.loop(1, 16, 6));
  loop.run({{by_replica(xs, 1), by_replica(ys, 1)}}, 6);
  EXPECT_LT(largest_difference(loop.results()[0], loss.reshape({1})), 1e-6);
  EXPECT_LT(largest_difference(other.variable_value(model.w), one.variable_value(model.w)), 1e-6);
  EXPECT_EQ(other.variable_value(model.step).item<int64_t>(), 6);
}

TEST_P(StepLoopTest, ReplicasAreTheWholeBatch) {
  const Model model;
  const Tensor xs = random_floats({4, 32, 8}, 1);
  const Tensor ys = random_floats({4, 32, 1}, 2);
  std::vector<Tensor> weights;
  for (const int replicas : {1, 4, 8}) {
    Session session("", config());
    session.run(global_variables_initializer());
    StepLoop loop(session, model.loop(replicas, 32, 4));
    loop.run({{by_replica(xs, replicas), by_replica(ys, replicas)}}, 4);
    EXPECT_EQ(loop.results()[0].shape(), Shape{replicas});
    weights.push_back(session.variable_value(model.w));
    EXPECT_THAT(loop.averaged_variables(), ElementsAre());
    EXPECT_EQ(session.variable_value(model.step).item<int64_t>(), 4);
  }
  EXPECT_LT(largest_difference(weights[1], weights[0]), 1e-6);
  EXPECT_LT(largest_difference(weights[2], weights[0]), 1e-6);
}

TEST_P(StepLoopTest, LaunchesOfAnyLengthGiveTheSame) {
  const Model model;
  const Tensor xs = by_replica(random_floats({4, 32, 8}, 1), 4);
  const Tensor ys = by_replica(random_floats({4, 32, 1}, 2), 4);
  Session whole("", config());
  whole.run(global_variables_initializer());
  StepLoop loop(whole, model.loop(4, 32, 4));
  loop.run({{xs, ys}}, 3);
  loop.run({{xs, ys}}, 1);
  Session parts("", config());
  parts.run(global_variables_initializer());
  StepLoop again(parts, model.loop(4, 32, 4));
  again.run({{xs, ys}}, 1);
  // The steps that are left, at the front of the stack.
  const auto shifted = [](const Tensor& stack) {
    Tensor result = stack.clone();
    const int64_t block = stack.byte_size() / (stack.dim(0) * stack.dim(1));
    auto* bytes = static_cast<std::byte*>(result.raw());
    for (int64_t r = 0; r < stack.dim(0); ++r) {
      std::byte* of_replica = bytes + r * stack.dim(1) * block;
      std::memmove(of_replica, of_replica + block, static_cast<size_t>((stack.dim(1) - 1) * block));
    }
    return result;
  };
  again.run({{shifted(xs), shifted(ys)}}, 2);
  again.run({{xs, ys}}, 1);
  EXPECT_TRUE(parts.variable_value(model.w).identical(whole.variable_value(model.w)));
}

TEST_P(StepLoopTest, KeepsTheFetchesOfEveryStep) {
  const Output x = placeholder(DType::f32, {2}, "x");
  const Variable v(1.0F, {.name = "v"});
  const Output bumped = v.assign_add(1.0F);
  for (const int replicas : {1, 2}) {
    Session session("", config());
    session.run(global_variables_initializer());
    StepLoop loop(session, {.inputs = {x},
                            .input_types = {x.type()},
                            .fetches = {multiply(x, 2.0F), bumped},
                            .num_replicas = replicas,
                            .max_steps = 3,
                            .keep = StepLoopOptions::Keep::every_step});
    const Tensor xs = random_floats({3, 2 * replicas}, 5);
    loop.run({{by_replica(xs, replicas)}}, 2);
    ASSERT_EQ(loop.results()[0].shape(), (Shape{2, replicas, 2}));
    for (int64_t i = 0; i < 4 * replicas; ++i) {
      EXPECT_EQ(loop.results()[0].as_double(i), 2 * xs.as_double(i));
    }
    ASSERT_EQ(loop.results()[1].shape(), (Shape{2, replicas}));
    EXPECT_EQ(loop.results()[1].as_double(0), 2);
    EXPECT_EQ(loop.results()[1].as_double(2 * replicas - 1), 3);
  }
}

TEST_P(StepLoopTest, VariablesHaveOneValue) {
  const Output x = placeholder(DType::f32, {2}, "x");
  const Variable moving(0.0F, {.name = "moving"});
  const Variable total(10.0F, {.name = "total"});
  const Variable count(0, {.name = "count"});
  const Output sum = reduce_sum(x);
  const Operation update = group({moving.assign(sum), total.assign_add(sum),
                                  count.assign_add(cast(greater(sum, 2.5F), DType::s32))});
  Session session("", config());
  session.run(global_variables_initializer());
  StepLoop loop(session, {.inputs = {x},
                          .input_types = {x.type()},
                          .targets = {update},
                          .num_replicas = 2,
                          .max_steps = 2,
                          .summed = {total, count}});
  // Replica 0 sees 1 and 3, replica 1 sees 2 and 8.
  loop.run({{Tensor::of<float>({2, 2, 2}, {1, 0, 2, 1, 1, 1, 4, 4})}}, 2);
  EXPECT_EQ(session.variable_value(moving).item<float>(), 5.5F);
  EXPECT_EQ(session.variable_value(total).item<float>(), 24);
  EXPECT_EQ(session.variable_value(count).item<int32_t>(), 2);
  EXPECT_THAT(loop.averaged_variables(), ElementsAre("moving"));
}

TEST_P(StepLoopTest, AFailedCheckChangesNoVariable) {
  const Output x = placeholder(DType::s32, {}, "x");
  const Variable v(0, {.name = "v"});
  const Output updated = v.assign_add(floordiv(12, x));
  for (const int replicas : {1, 2}) {
    Session session("", config());
    session.run(global_variables_initializer());
    StepLoop loop(session, {.inputs = {x},
                            .input_types = {x.type()},
                            .fetches = {updated},
                            .num_replicas = replicas,
                            .max_steps = 2});
    Tensor xs = Tensor::full(DType::s32, {replicas, 2}, 3);
    loop.run({{xs}}, 2);
    EXPECT_EQ(session.variable_value(v).item<int32_t>(), 8);
    xs.data<int32_t>().back() = 0;
    EXPECT_THROW(loop.run({{xs}}, 2), Error);
    EXPECT_EQ(session.variable_value(v).item<int32_t>(), 8);
    loop.run({{xs}}, 1);
    EXPECT_EQ(session.variable_value(v).item<int32_t>(), 12);
  }
}

TEST_P(StepLoopTest, Errors) {
  const Output x = placeholder(DType::f32, {-1}, "x");
  const Variable v(Tensor::of<float>({1}, {1.0F}), {.name = "v"});
  const Output y = multiply(x, v);
  Session session("", config());
  const auto make = [&](StepLoopOptions options) {
    return error_of([&] { StepLoop(session, std::move(options)); });
  };
  const TensorType type{DType::f32, {2}};
  EXPECT_THAT(make({.inputs = {x}, .fetches = {y}}), HasSubstr("input_types, got 0, expected 1"));
  EXPECT_THAT(make({.inputs = {x}, .input_types = {x.type()}, .fetches = {y}}),
              HasSubstr("feed of 'x:0', got f32[?], expected f32[?]"));
  EXPECT_THAT(make({.fetches = {y}}), HasSubstr("x"));
  EXPECT_THAT(make({.inputs = {x}, .input_types = {type}, .fetches = {y}, .num_replicas = 0}),
              HasSubstr("num_replicas, got 0, expected at least 1"));
  EXPECT_THAT(make({.inputs = {x}, .input_types = {type}, .fetches = {y}, .max_steps = 0}),
              HasSubstr("max_steps, got 0, expected at least 1"));
  StepLoop loop(
      session,
      {.inputs = {x}, .input_types = {type}, .fetches = {y}, .num_replicas = 2, .max_steps = 3});
  const Tensor xs = Tensor::zeros(DType::f32, {2, 3, 2});
  const auto run = [&](const std::vector<Tensor>& inputs, int64_t steps) {
    return error_of([&] { loop.run(inputs, steps); });
  };
  EXPECT_THAT(run({xs}, 3), HasSubstr("Attempting to use uninitialized value v"));
  session.run(global_variables_initializer());
  EXPECT_EQ(run({xs}, 3), "no error");
  EXPECT_THAT(run({xs}, 4), HasSubstr("steps, got 4, expected 1 to 3"));
  EXPECT_THAT(run({xs}, 0), HasSubstr("steps, got 0, expected 1 to 3"));
  EXPECT_THAT(run({}, 1), HasSubstr("inputs, got 0, expected 1"));
  EXPECT_THAT(run({Tensor::zeros(DType::f32, {3, 2})}, 1),
              HasSubstr("input 'x:0', got f32[3,2], expected f32[2,3,2] (replicas, steps, ...)"));
}

TEST(StepLoopMemory, ACoreHasNoMoreThanItsOwn) {
  Graph graph;
  const GraphScope scope(graph);
  const Output x = placeholder(DType::f32, {int64_t{1} << 28, 9}, "x");
  Session session("local", {.graph = &graph});
  EXPECT_THAT(error_of([&] {
                StepLoop(session, {.inputs = {x},
                                   .input_types = {x.type()},
                                   .fetches = {reduce_sum(x)},
                                   .num_replicas = 2});
              }),
              ::testing::AllOf(HasSubstr("RESOURCE_EXHAUSTED"), HasSubstr("x")));
}

// The first run waits for the program; so does the end of a loop that nobody ran.
TEST_P(StepLoopTest, CompilesBesideItsCaller) {
  const Model model;
  const Tensor xs = random_floats({2, 16, 8}, 1);
  const Tensor ys = random_floats({2, 16, 1}, 2);
  const auto trained = [&](bool beside) {
    Session session("", config());
    StepLoopOptions options = model.loop(1, 16, 2);
    options.compile_beside = beside;
    StepLoop loop(session, options);
    const StepLoop not_run(session, options);
    session.run(global_variables_initializer());
    loop.run({{by_replica(xs, 1), by_replica(ys, 1)}}, 2);
    return session.variable_value(model.w);
  };
  EXPECT_TRUE(trained(true).identical(trained(false)));
}

// The CPU's, whose compiler takes until `open` to compile a loop.
class SlowClient : public runtime::Client {
 public:
  SlowClient(runtime::Client& cpu, std::shared_future<void> open)
      : cpu_(cpu), open_(std::move(open)) {}
  std::string_view platform() const override { return cpu_.platform(); }
  std::span<const runtime::Device> devices() const override { return cpu_.devices(); }
  std::unique_ptr<runtime::Executable> compile(const hlo::Module& module,
                                               const runtime::CompileOptions& options) override {
    if (module.name() == "steps") open_.wait();
    return cpu_.compile(module, options);
  }
  std::unique_ptr<runtime::Buffer> buffer_from_host(
      Tensor tensor, const runtime::BufferOptions& options) override {
    return cpu_.buffer_from_host(std::move(tensor), options);
  }

 private:
  runtime::Client& cpu_;
  std::shared_future<void> open_;
};

TEST(StepLoopCompiler, LetsOthersUseTheSessionWhileTheFirstRunWaitsForIt) {
  std::promise<void> open;
  runtime::Client& cpu = runtime::client("cpu");
  runtime::register_backend(
      {.name = "slow",
       .make = [&cpu, opened = open.get_future().share()](const runtime::ClientOptions&) {
         return std::make_unique<SlowClient>(cpu, opened);
       }});
  Graph graph;
  const GraphScope scope(graph);
  const Variable v(Tensor(2.0F), {.name = "v"});
  Session session("", {.graph = &graph, .backend = "slow"});
  session.run(global_variables_initializer());
  StepLoop loop(session, {.fetches = {add(v.value(), 1.0F)}, .compile_beside = true});
  auto run = std::async(std::launch::async, [&] { loop.run({}, 1); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // it waits by now
  auto read = std::async(std::launch::async, [&] { return session.variable_value(v); });
  EXPECT_EQ(read.wait_for(std::chrono::seconds(5)), std::future_status::ready);
  open.set_value();
  run.get();
  EXPECT_EQ(read.get().item<float>(), 2);
  EXPECT_EQ(loop.results()[0].as_double(0), 3);
}

TEST(StepLoopMemory, IsSaidByEveryRunOfALoopThatCompilesBeside) {
  Graph graph;
  const GraphScope scope(graph);
  const Output x = placeholder(DType::f32, {16, 1}, "x");
  const Output wide = matmul(x, fill({1, int64_t{1} << 29}, 1.0F));
  Session session("local", {.graph = &graph});
  StepLoop loop(session, {.inputs = {x},
                          .input_types = {x.type()},
                          .fetches = {wide},
                          .num_replicas = 1,
                          .compile_beside = true});
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(error_of([&] {
                  loop.run({{Tensor::zeros(DType::f32, {1, 1, 16, 1})}}, 1);
                }),
                HasSubstr("RESOURCE_EXHAUSTED"));
  }
}

// More than a snapshot copies: the step after one writes elsewhere.
TEST(StepLoopSnapshot, StaysAsItIsAndChangesNothing) {
  Graph graph;
  const GraphScope scope(graph);
  const SessionConfig config{.graph = &graph, .entropy = 7};
  const int64_t rows = int64_t{5} << 20;
  const Output x = placeholder(DType::f32, {2}, "x");
  const Variable large(fill({rows}, 1.0F), {.name = "large"});
  const Variable step(Tensor(int64_t{0}), {.name = "step"});
  const Output noise = random_uniform({}, {.minval = 0.5, .maxval = 1});
  const Output change = multiply(tpu::cross_replica_sum(reduce_sum(x)), noise);
  const Operation train = group(
      {large.assign_sub(multiply(large.value(), change)), step.assign_add(Tensor(int64_t{1}))});
  const StepLoopOptions options{.inputs = {x},
                                .input_types = {x.type()},
                                .fetches = {change},
                                .targets = {train},
                                .num_replicas = 2,
                                .max_steps = 3};
  const Tensor xs = random_floats({2, 3, 2}, 5);
  Session plain("", config);
  plain.run(global_variables_initializer());
  StepLoop undisturbed(plain, options);
  Session session("", config);
  session.run(global_variables_initializer());
  StepLoop loop(session, options);
  const std::vector<Variable> variables = {large, step};
  const auto launch = [&](int64_t steps) {
    const Tensor before = session.variable_value(large);
    const VariableSnapshot first = StepLoop::snapshot(session, variables);
    const VariableSnapshot second = StepLoop::snapshot(session, variables);
    undisturbed.run({{xs}}, steps);
    loop.run({{xs}}, steps);
    EXPECT_TRUE(loop.results()[0].identical(undisturbed.results()[0]));
    EXPECT_TRUE(session.variable_value(large).identical(plain.variable_value(large)));
    for (const VariableSnapshot* snapshot : {&first, &second}) {
      EXPECT_TRUE(snapshot->value(0).identical(before));
    }
  };
  launch(2);
  EXPECT_FALSE(loop.double_buffers_updates());
  for (int tries = 0; tries < 1000 && !loop.double_buffers_updates(); ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    launch(1);
  }
  ASSERT_TRUE(loop.double_buffers_updates());
  for (const int64_t steps : {1, 3, 2}) launch(steps);
  // Nor does a run of another program write over it.
  const Tensor before = session.variable_value(large);
  const VariableSnapshot snapshot = StepLoop::snapshot(session, variables);
  session.run({train}, {{x, Tensor::of<float>({2}, {0.1F, 0.2F})}});
  EXPECT_TRUE(snapshot.value(0).identical(before));
  EXPECT_FALSE(session.variable_value(large).identical(before));
}

TEST_P(StepLoopTest, SetsVariablesAllOrNone) {
  Graph graph;
  const GraphScope scope(graph);
  const Variable a(fill({100}, 1.0F), {.name = "a"});
  const Variable b(Tensor(2.0F), {.name = "b"});
  Session session("", {.graph = &graph, .backend = GetParam()});
  const std::vector<Variable> both = {a, b};
  const Tensor kept = random_floats({2, 100}, 3);
  // A part of a tensor and memory that someone else has are copied.
  StepLoop::set_variables(session, both, {kept.slice(1, 2).reshape({100}), Tensor(3.0F)});
  EXPECT_TRUE(session.variable_value(a).identical(kept.slice(1, 2).reshape({100})));
  EXPECT_EQ(session.variable_value(b).item<float>(), 3);
  session.run({a.assign_add(fill({100}, 1.0F))});
  EXPECT_TRUE(kept.identical(random_floats({2, 100}, 3)));
  StepLoop::set_variables(session, both, {random_floats({100}, 4), Tensor(5.0F)});
  EXPECT_TRUE(session.variable_value(a).identical(random_floats({100}, 4)));
  EXPECT_EQ(error_of([&] {
              StepLoop::set_variables(session, both, {random_floats({100}, 6), Tensor(7)});
            }),
            "INVALID_ARGUMENT: Session.set_variable: value for 'b', got s32[], expected f32[]");
  EXPECT_TRUE(session.variable_value(a).identical(random_floats({100}, 4)));
}

INSTANTIATE_TEST_SUITE_P(Backends, StepLoopTest, ::testing::Values("cpu", "reference"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace systole
