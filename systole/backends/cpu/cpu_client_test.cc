#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "systole/backends/cpu/testing/compare.h"
#include "systole/backends/cpu/testing/programs.h"
#include "systole/runtime/registry.h"
#include "systole/tracing/recorder.h"

namespace systole::cpu {
namespace {

using hlo::Opcode;
using hlo::Value;
using hlo::testing::error_of;

const TensorType kRow{DType::f32, {40}};

Tensor row(float first) {
  Tensor result(kRow);
  for (size_t i = 0; i < 40; ++i) result.data<float>()[i] = first + static_cast<float>(i);
  return result;
}

// main over rows, with these aliases.
template <class Fill>
std::unique_ptr<hlo::Module> module_of(int parameters, std::vector<hlo::Module::Alias> aliases,
                                       Fill fill) {
  auto module = std::make_unique<hlo::Module>("test");
  hlo::Computation& main = module->add_function("main");
  std::vector<Value> values;
  for (int i = 0; i < parameters; ++i) values.push_back(main.add_parameter(kRow));
  hlo::Builder b(main);
  main.set_results(fill(b, values));
  module->aliases = std::move(aliases);
  return module;
}

// The arguments' buffers after a run, then the results that are not in one of them.
std::vector<Tensor> run_on_buffers(const hlo::Module& module, const std::vector<Tensor>& arguments,
                                   bool optimize) {
  auto& client = testing::client();
  const auto executable = client.compile(module, {.optimize = optimize});
  std::vector<std::unique_ptr<runtime::Buffer>> buffers;
  std::vector<runtime::Argument> inputs;
  for (const Tensor& argument : arguments) {
    buffers.push_back(client.buffer_from_host(argument));
    inputs.push_back({.buffer = buffers.back().get(), .donate = true});
  }
  std::vector<Tensor> outputs(executable->result_types().size());
  std::vector<runtime::Result> results;
  for (size_t k = 0; k < outputs.size(); ++k) {
    const bool aliased = std::ranges::any_of(
        module.aliases, [&](const auto& a) { return a.result == static_cast<int>(k); });
    results.push_back({.host = aliased ? nullptr : &outputs[k]});
  }
  executable->execute(inputs, results).wait();
  std::vector<Tensor> all;
  for (const auto& buffer : buffers) all.push_back(buffer->to_host());
  for (size_t k = 0; k < outputs.size(); ++k) {
    if (results[k].host != nullptr) all.push_back(outputs[k]);
  }
  return all;
}

void expect_rows(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_EQ(testing::difference(got[i], want[i], {}), "") << i;
}

Tensor sum(const Tensor& a, const Tensor& b) {
  Tensor result(kRow);
  for (size_t i = 0; i < 40; ++i) result.data<float>()[i] = a.data<float>()[i] + b.data<float>()[i];
  return result;
}

class Aliasing : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Optimized, Aliasing, ::testing::Bool());

TEST_P(Aliasing, UpdatesInPlace) {
  const auto module = module_of(
      2, {{0, 0}}, [](hlo::Builder& b, auto& v) { return std::vector{b.add(v[0], v[1])}; });
  expect_rows(run_on_buffers(*module, {row(1), row(2)}, GetParam()), {sum(row(1), row(2)), row(2)});
}

TEST_P(Aliasing, KeepsTheOldValueForWhoReadsItLater) {
  const auto module = module_of(2, {{0, 0}}, [](hlo::Builder& b, auto& v) {
    return std::vector{b.add(v[0], v[1]), b.reverse(v[0], {0}), v[0]};
  });
  Tensor reversed = row(1);
  std::ranges::reverse(reversed.data<float>());
  expect_rows(run_on_buffers(*module, {row(1), row(2)}, GetParam()),
              {sum(row(1), row(2)), row(2), reversed, row(1)});
}

TEST_P(Aliasing, ReversesItself) {
  const auto module = module_of(
      1, {{0, 0}}, [](hlo::Builder& b, auto& v) { return std::vector{b.reverse(v[0], {0})}; });
  Tensor reversed = row(1);
  std::ranges::reverse(reversed.data<float>());
  expect_rows(run_on_buffers(*module, {row(1)}, GetParam()), {reversed});
}

TEST_P(Aliasing, ExchangesTwoBuffers) {
  const auto module = module_of(2, {{0, 0}, {1, 1}}, [](hlo::Builder&, auto& v) {
    return std::vector{v[1], v[0]};
  });
  expect_rows(run_on_buffers(*module, {row(1), row(2)}, GetParam()), {row(2), row(1)});
}

TEST_P(Aliasing, LeavesAHostArgumentAlone) {
  const auto module = module_of(
      2, {{0, 0}}, [](hlo::Builder& b, auto& v) { return std::vector{b.add(v[0], v[1])}; });
  const std::vector<Tensor> arguments = {row(1), row(2)};
  const auto results = testing::run(*module, arguments, {.optimize = GetParam()});
  EXPECT_EQ(testing::difference(arguments[0], row(1), {}), "");
  EXPECT_EQ(testing::difference(results[0], sum(row(1), row(2)), {}), "");
}

TEST(CpuClient, RefusesAnArgumentThatTheProgramUpdatesUnderAnother) {
  const auto module = module_of(
      2, {{0, 0}}, [](hlo::Builder& b, auto& v) { return std::vector{b.add(v[0], v[1])}; });
  const auto executable = testing::client().compile(*module);
  const auto buffer = testing::client().buffer_from_host(row(1));
  const std::vector<runtime::Argument> arguments = {{.buffer = buffer.get(), .donate = true},
                                                    {.buffer = buffer.get()}};
  const std::vector<runtime::Result> results(1);
  EXPECT_EQ(
      error_of([&] { executable->execute(arguments, results).wait(); }),
      "INVALID_ARGUMENT: cpu: argument 1, got the memory of argument 0, which the program updates");
}

TEST(CpuClient, ReusesTheMemoryOfAHostResult) {
  const auto module =
      module_of(1, {}, [](hlo::Builder& b, auto& v) { return std::vector{b.negate(v[0])}; });
  const auto executable = testing::client().compile(*module);
  const Tensor x = row(1);
  Tensor result(kRow);
  const void* memory = result.raw();
  const std::vector<runtime::Argument> arguments = {{.host = &x}};
  const std::vector<runtime::Result> results = {{.host = &result}};
  executable->execute(arguments, results).wait();
  EXPECT_EQ(result.raw(), memory);
  const Tensor shared = result;
  executable->execute(arguments, results).wait();
  EXPECT_NE(result.raw(), memory) << "another tensor looks at it";
}

TEST(CpuClient, TakesItsOwnResultAsAnArgument) {
  for (const bool aliased : {false, true}) {
    std::vector<hlo::Module::Alias> aliases;
    if (aliased) aliases = {{0, 0}};
    const auto module = module_of(1, aliases, [](hlo::Builder& b, auto& v) {
      return std::vector{b.add(b.reverse(v[0], {0}), b.add(v[0], v[0]))};
    });
    const auto executable = testing::client().compile(*module);
    Tensor y = row(1);
    const std::vector<runtime::Argument> arguments = {{.host = &y}};
    const std::vector<runtime::Result> results = {{.host = &y}};
    for (int i = 0; i < 3; ++i) {
      Tensor want(kRow);
      for (size_t k = 0; k < 40; ++k)
        want.data<float>()[k] = y.data<float>()[39 - k] + 2 * y.data<float>()[k];
      executable->execute(arguments, results).wait();
      EXPECT_EQ(testing::difference(y, want, {}), "") << aliased;
    }
  }
}

// The result has another type than the tensor that it replaces, which the program still reads.
TEST(CpuClient, ReplacesAnArgumentByAResultOfAnotherShape) {
  hlo::Module module;
  hlo::Computation& main = module.add_function("main");
  const Value x = main.add_parameter(kRow);
  hlo::Builder b(main);
  main.set_results({b.reduce(x, Opcode::add, {0})});
  const auto executable = testing::client().compile(module);
  Tensor y = row(1);
  const std::vector<runtime::Argument> arguments = {{.host = &y}};
  const std::vector<runtime::Result> results = {{.host = &y}};
  executable->execute(arguments, results).wait();
  EXPECT_EQ(y.item<float>(), 820);
}

TEST(CpuClient, RunsOneProgramFromManyThreads) {
  const testing::TwoLayers shape{.batch = 16, .inputs = 20, .hidden = 300, .classes = 10};
  const auto module = testing::training_step(shape);
  const auto executable = testing::client().compile(*module);
  RandomStream random(71);
  const std::vector<Tensor> arguments = {
      testing::random_tensor(random, {DType::f32, {16, 20}}, 0, 2),
      testing::random_tensor(random, {DType::f32, {16, 10}}, 0, 1),
      testing::random_tensor(random, {DType::f32, {20, 300}}, -1, 1),
      testing::random_tensor(random, {DType::f32, {300, 10}}, -1, 1)};
  const auto want = testing::run(*module, arguments);
  std::vector<std::string> differences(4);
  std::vector<std::thread> threads;
  for (std::string& difference : differences) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const std::vector<Tensor> outputs = runtime::run(*executable, arguments);
        for (size_t k = 0; k < 3; ++k) difference += testing::difference(outputs[k], want[k], {});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& difference : differences) EXPECT_EQ(difference, "");
}

TEST(CpuClient, FindsTheCodeOfAProgramThatItReads) {
  const auto module = testing::training_step({});
  const runtime::CompileOptions options{.program = {.profile = true}, .num_threads = 1};
  const auto executable = testing::client().compile(*module, options);
  const std::string bytes = executable->serialize();
  EXPECT_THAT(bytes, ::testing::StartsWith("systole-program-1 "));
  const auto again = testing::client().deserialize(bytes);
  EXPECT_TRUE(again->stats().code_cached);
  EXPECT_EQ(again->optimized_program(), executable->optimized_program());
  EXPECT_EQ(again->serialize(), bytes);
  std::vector<Tensor> arguments;
  for (const TensorType& type : again->parameter_types())
    arguments.push_back(Tensor::full(type.dtype, type.shape, 0.5));
  std::vector<runtime::StepProfile> profile;
  runtime::run(*again, arguments, {.profile = &profile});
  EXPECT_FALSE(profile.empty()) << "the option was not kept";
}

TEST(CpuClient, SaysWhatItCannotDo) {
  const auto module =
      module_of(1, {}, [](hlo::Builder& b, auto& v) { return std::vector{b.negate(v[0])}; });
  EXPECT_EQ(error_of([&] { testing::client().compile(*module, {.num_replicas = 0}); }),
            "INVALID_ARGUMENT: cpu: num_replicas, got 0, expected 1 to 2048");
}

TEST(CpuClient, RunsWhatItHasNoCodeForByItsReferenceValue) {
  // The steps around it have code, and share its memory.
  hlo::Module module;
  hlo::Computation& main = module.add_function("main");
  const Value x = main.add_parameter({DType::c64, {3}});
  hlo::Builder b(main);
  const Value sum = b.add(x, x);
  main.set_results({b.multiply(b.unary(Opcode::tanh, sum), sum)});
  EXPECT_EQ(testing::client().compile(module)->stats().reference_steps, 1);
  using Complex = std::complex<float>;
  const Tensor argument =
      Tensor::of<Complex>({3}, {Complex(1, 2), Complex(-0.5F, 0), Complex(0, -3)});
  EXPECT_EQ(testing::check(module, {{argument}}, {.ulps = 1}), "");
}

// As XLA's HloCostAnalysis counts them.
TEST(CpuClient, CountsTranscendentalFunctionsApart) {
  hlo::Module module;
  hlo::Computation& main = module.add_function("main");
  const Value x = main.add_parameter({DType::f32, {4, 8}});
  hlo::Builder b(main);
  main.set_results({b.add(b.unary(Opcode::exponential, b.multiply(x, x)), x)});
  const auto executable = testing::client().compile(module);
  EXPECT_EQ(executable->stats().flops, 2 * 32);
  EXPECT_EQ(executable->stats().transcendentals, 32);
}

TEST(CpuClient, ProfilesEveryStep) {
  const auto module = testing::training_step({});
  const auto executable = testing::client().compile(*module, {.program = {.profile = true}});
  std::vector<Tensor> arguments;
  for (const TensorType& type : executable->parameter_types())
    arguments.push_back(Tensor::full(type.dtype, type.shape, 0.5));
  std::vector<runtime::Argument> inputs;
  for (const Tensor& argument : arguments) inputs.push_back({.host = &argument});
  const std::vector<runtime::Result> results(executable->result_types().size());
  std::vector<runtime::StepProfile> steps;
  executable->execute(inputs, results, {.profile = &steps}).wait();
  ASSERT_FALSE(steps.empty());
  double flops = 0;
  for (const runtime::StepProfile& step : steps) {
    EXPECT_NE(step.step, "");
    EXPECT_EQ(step.runs, 1) << step.step;
    EXPECT_GE(step.seconds, 0) << step.step;
    EXPECT_GT(step.bytes, 0) << step.step;
    flops += step.flops;
  }
  EXPECT_EQ(flops, executable->stats().flops);
}

TEST(CpuClient, NotesItsStepAndOpsInARecording) {
  const auto module = testing::training_step({});
  const auto executable = testing::client().compile(*module);
  std::vector<Tensor> arguments;
  for (const TensorType& type : executable->parameter_types())
    arguments.push_back(Tensor::full(type.dtype, type.shape, 0.5));
  const std::vector<Tensor> before = runtime::run(*executable, arguments);
  ASSERT_TRUE(tracing::start());
  const std::vector<Tensor> results = runtime::run(*executable, arguments);
  runtime::run(*executable, arguments, {.notes = false});
  const tracing::Recording recording = tracing::stop();
  for (size_t i = 0; i < results.size(); ++i) EXPECT_TRUE(results[i].identical(before[i]));

  ASSERT_EQ(recording.programs.size(), 1U);
  const tracing::Program& program = *recording.programs.begin()->second;
  EXPECT_EQ(program.argument_bytes, executable->stats().argument_bytes);
  EXPECT_FALSE(program.allocations.empty());
  double flops = 0;
  double products = 0;
  for (const tracing::Op& op : program.ops) {
    flops += op.flops;
    products += op.padded_flops;
    EXPECT_GT(op.bytes, 0) << op.name;
    EXPECT_NE(op.category, "") << op.name;
  }
  EXPECT_EQ(flops, executable->stats().flops);
  // x * w_1 and its gradient of one row of 5 numbers, and so on: all are padded to 128 x 128.
  EXPECT_GT(products, flops);

  ASSERT_EQ(recording.threads.size(), 1U);
  const std::vector<tracing::Event>& events = recording.threads[0].events;
  ASSERT_EQ(events.size(), program.ops.size() + 1);
  const tracing::Event& step = events.back();
  EXPECT_EQ(step.kind, tracing::Kind::step);
  EXPECT_EQ(step.arg("program"), program.id);
  EXPECT_EQ(step.arg("ops"), static_cast<int64_t>(program.ops.size()));
  int64_t end = step.begin;
  for (size_t i = 0; i + 1 < events.size(); ++i) {
    EXPECT_EQ(events[i].kind, tracing::Kind::op);
    EXPECT_EQ(events[i].arg("op"), static_cast<int64_t>(i));
    EXPECT_EQ(events[i].begin, end);
    end = events[i].end;
  }
  EXPECT_LE(end, step.end);
}

TEST(CpuClient, RefusesAProgramLargerThanMemory) {
  hlo::Module module;
  hlo::Computation& main = module.add_function("main");
  hlo::Builder b(main);
  main.set_results({b.iota({DType::f64, {int64_t{1} << 40}}, 0)});
  EXPECT_EQ(error_of([&] { testing::client().compile(module); }).substr(0, 18),
            "RESOURCE_EXHAUSTED");
}

TEST(CpuClient, RefusesABufferThatDoesNotFitItsCore) {
  runtime::Client& client =
      runtime::client("cpu", {{"cores", int64_t{2}}, {"core_memory", int64_t{1} << 20}});
  const auto put = [&](int64_t bytes, std::vector<int> devices, bool stacked = false) {
    return client.buffer_from_host(Tensor::zeros(DType::u8, {2, bytes / 2}),
                                   {.device_ids = devices, .stacked = stacked});
  };
  auto first = put(600'000, {0});
  EXPECT_THAT(
      error_of([&] { put(600'000, {0}); }),
      ::testing::AllOf(::testing::HasSubstr("RESOURCE_EXHAUSTED: cpu: a buffer of u8[2,300000]"),
                       ::testing::HasSubstr("600000 of 1048576 in use")));
  EXPECT_NO_THROW(put(600'000, {1}));
  EXPECT_NO_THROW(put(800'000, {0, 1}, true));
  EXPECT_THAT(error_of([&] { put(800'000, {1, 0}); }), ::testing::HasSubstr("RESOURCE_EXHAUSTED"));
  first.reset();
  EXPECT_NO_THROW(put(600'000, {0}));
}

TEST(CpuClient, CountsBytesAndOperations) {
  const auto executable = testing::client().compile(*testing::training_step({}));
  EXPECT_EQ(executable->stats().argument_bytes, 4 * (5 + 3 + 5 * 256 + 256 * 3));
  EXPECT_EQ(executable->stats().result_bytes, 4 * (5 * 256 + 256 * 3 + 1));
  EXPECT_GT(executable->stats().flops, 2.0 * 2 * (5 * 256 + 256 * 3));
  EXPECT_GT(executable->stats().compile_seconds, 0);
}

}  // namespace
}  // namespace systole::cpu
