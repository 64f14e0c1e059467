// What every client promises: see client.h. A test executable includes this file once, and names
// its clients: INSTANTIATE_TEST_SUITE_P(Clients, ClientContract, ::testing::Values(...),
// client_name).
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "systole/base/testing/error_of.h"
#include "systole/hlo/ir/builder.h"
#include "systole/runtime/process_group.h"
#include "systole/runtime/registry.h"
#include "systole/runtime/run_replicas.h"
#include "systole/stablehlo/text/text.h"

namespace systole::runtime::contract {

using systole::testing::error_of;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

inline const TensorType kRow{DType::f32, {4}};

inline Tensor row(float first) {
  return Tensor::of<float>({4}, {first, first + 1, first + 2, first + 3});
}

// main(x, y) -> (x + y, x), where the sum may be written over x.
inline std::unique_ptr<hlo::Module> sum_module() {
  auto module = std::make_unique<hlo::Module>("sum");
  hlo::Computation& main = module->add_function("main");
  const hlo::Value x = main.add_parameter(kRow);
  const hlo::Value y = main.add_parameter(kRow);
  hlo::Builder b(main);
  main.set_results({b.add(x, y), x});
  module->aliases = {{0, 0}};
  return module;
}

inline Tensor plus(const Tensor& x, float y) {
  Tensor sum = x.clone();
  for (float& element : sum.data<float>()) element += y;
  return sum;
}

// A buffer of no client.
class StrangeBuffer : public Buffer {
 public:
  const TensorType& type() const override { return kRow; }
  int device_id() const override { return 0; }
  Event copy_to_host(Tensor&) const override { return {}; }
};

// Checks the error of a client whose programs do not meet other processes; a group of one is none.
inline void expect_processes_are_refused(Client& client) {
  auto steps = make_in_memory_collectives(2);
  auto rare = make_in_memory_collectives(2);
  ProcessGroup first(std::move(steps[0]), std::move(rare[0]), nullptr);
  ProcessGroup alone;
  EXPECT_THAT(error_of([&] { client.compile(*sum_module(), {.processes = &first}); }),
              AllOf(StartsWith("UNIMPLEMENTED"), HasSubstr("processes of a program, got 2")));
  EXPECT_EQ(error_of([&] { client.compile(*sum_module(), {.processes = &alone}); }), "no error");
}

struct NamedClient {
  const char* name;
  Client& (*client)();
};

inline std::string client_name(const ::testing::TestParamInfo<NamedClient>& info) {
  return info.param.name;
}

class ClientContract : public ::testing::TestWithParam<NamedClient> {
 protected:
  Client& client_ = GetParam().client();
  // One device and its memory.
  std::unique_ptr<Executable> sum_ = client_.compile(*sum_module());

  std::unique_ptr<Buffer> put(const Tensor& value) { return client_.buffer_from_host(value); }

  // x + y as a new buffer.
  std::unique_ptr<Buffer> add(Buffer& x, const Tensor& y) {
    std::unique_ptr<Buffer> sum;
    last_ = sum_->execute({{{.buffer = &x}, {.host = &y}}}, {{{.device = &sum}, {}}});
    return sum;
  }

  Event last_;
};

TEST_P(ClientContract, DescribesItsDevices) {
  EXPECT_NE(client_.platform(), "");
  ASSERT_FALSE(client_.devices().empty());
  std::set<int> ids;
  for (const Device& device : client_.devices()) {
    EXPECT_TRUE(ids.insert(device.id).second);
    EXPECT_NE(device.name, "");
    EXPECT_NE(device.kind, "");
    EXPECT_EQ(device.process_index, client_.process_index());
  }
}

TEST_P(ClientContract, GivesBackWhatWasPut) {
  const auto buffer = put(row(1));
  EXPECT_EQ(buffer->type(), kRow);
  EXPECT_EQ(buffer->device_id(), 0);
  EXPECT_TRUE(buffer->to_host().identical(row(1)));
  EXPECT_EQ(buffer->ready().error(), nullptr);
}

TEST_P(ClientContract, HasReadHostMemoryWhenAPutReturns) {
  Tensor value = row(1);
  const auto buffer = put(value);
  value.data<float>()[0] = 99;
  EXPECT_TRUE(buffer->to_host().identical(row(1)));
}

TEST_P(ClientContract, TellsWhenHostMemoryMayBeWritten) {
  const Tensor keep = row(1);
  Tensor value = keep.clone();
  Event free;
  const auto buffer = client_.buffer_from_host(value, {.host_memory_free = &free});
  free.wait();
  value.data<float>()[0] = 99;
  EXPECT_TRUE(buffer->to_host().identical(keep));
}

TEST_P(ClientContract, TakesMemoryThatNobodyElseHolds) {
  Tensor value = row(5);
  const auto buffer = client_.buffer_from_host(std::move(value));
  EXPECT_TRUE(buffer->to_host().identical(row(5)));
}

TEST_P(ClientContract, CopiesIntoTheMemoryOfATensorThatFits) {
  const auto buffer = put(row(1));
  Tensor target(kRow);
  const void* const memory = target.raw();
  buffer->copy_to_host(target).wait();
  EXPECT_EQ(target.raw(), memory);
  EXPECT_TRUE(target.identical(row(1)));
  const Tensor shared = target;
  buffer->copy_to_host(target).wait();
  EXPECT_NE(target.raw(), memory) << "another tensor shares the memory";
}

TEST_P(ClientContract, ShowsMemoryThatTheHostCanRead) {
  const auto buffer = put(row(1));
  buffer->ready().wait();
  const Tensor* const value = buffer->host_value();
  if (value == nullptr) return;
  EXPECT_TRUE(value->identical(row(1)));
}

TEST_P(ClientContract, RunsOnHostTensorsAndBuffers) {
  const auto x = put(row(1));
  const Tensor y = row(10);
  Tensor old;
  std::unique_ptr<Buffer> sum;
  sum_->execute({{{.buffer = x.get()}, {.host = &y}}}, {{{.device = &sum}, {.host = &old}}}).wait();
  EXPECT_TRUE(old.identical(row(1)));
  EXPECT_TRUE(sum->to_host().identical(Tensor::of<float>({4}, {11, 13, 15, 17})));
  EXPECT_TRUE(x->to_host().identical(row(1))) << "it was not donated";
  EXPECT_TRUE(run(*sum_, {{row(1), row(0)}})[0].identical(Tensor::of<float>({4}, {1, 3, 5, 7})));
}

TEST_P(ClientContract, WritesHostResultsInPlace) {
  const Tensor x = row(1);
  Tensor sum(kRow);
  const void* const memory = sum.raw();
  sum_->execute({{{.host = &x}, {.host = &x}}}, {{{.host = &sum}, {}}}).wait();
  EXPECT_EQ(sum.raw(), memory);
  EXPECT_TRUE(sum.identical(Tensor::of<float>({4}, {2, 4, 6, 8})));
}

TEST_P(ClientContract, TakesArgumentsThatAreStillComputed) {
  const Tensor one = Tensor::full(DType::f32, {4}, 1);
  std::unique_ptr<Buffer> value = put(row(0));
  for (int i = 0; i < 20; ++i) value = add(*value, one);
  EXPECT_TRUE(value->to_host().identical(plus(row(0), 20)));
  last_.wait();
}

TEST_P(ClientContract, UpdatesADonatedBuffer) {
  const auto x = put(row(0));
  const Tensor one = Tensor::full(DType::f32, {4}, 1);
  for (int i = 0; i < 20; ++i) {
    last_ = sum_->execute({{{.buffer = x.get(), .donate = true}, {.host = &one}}}, {{{}, {}}});
  }
  EXPECT_TRUE(x->to_host().identical(plus(row(0), 20)));
  EXPECT_EQ(x->ready().error(), nullptr);
}

TEST_P(ClientContract, GivesADonatedResultTwiceWhenAsked) {
  const auto x = put(row(0));
  const Tensor one = Tensor::full(DType::f32, {4}, 1);
  Tensor sum;
  sum_->execute({{{.buffer = x.get(), .donate = true}, {.host = &one}}}, {{{.host = &sum}, {}}})
      .wait();
  EXPECT_TRUE(sum.identical(row(1)));
  EXPECT_TRUE(x->to_host().identical(row(1)));
}

TEST_P(ClientContract, ReadsABufferBeforeALaterLaunchOverwritesIt) {
  const Tensor one = Tensor::full(DType::f32, {4}, 1);
  const auto x = put(row(0));
  const auto before = add(*x, one);
  last_ = sum_->execute({{{.buffer = x.get(), .donate = true}, {.host = &one}}}, {{{}, {}}});
  last_ = sum_->execute({{{.buffer = x.get(), .donate = true}, {.host = &one}}}, {{{}, {}}});
  EXPECT_TRUE(before->to_host().identical(row(1)));
  EXPECT_TRUE(x->to_host().identical(row(2)));
}

TEST_P(ClientContract, HasReadHostArgumentsWhenExecuteReturns) {
  Tensor one = Tensor::full(DType::f32, {4}, 1);
  const auto x = put(row(0));
  const auto sum = add(*x, one);
  one.data<float>()[0] = 99;
  EXPECT_TRUE(sum->to_host().identical(row(1)));
}

TEST_P(ClientContract, KeepsBuffersForTheLaunchesThatUseThem) {
  const Tensor one = Tensor::full(DType::f32, {4}, 1);
  std::unique_ptr<Buffer> sum;
  {
    const auto x = put(row(0));
    const auto between = add(*x, one);
    sum = add(*between, one);
  }
  EXPECT_TRUE(sum->to_host().identical(row(2)));
}

TEST_P(ClientContract, CountsMemory) {
  const int64_t bytes = int64_t{4} << 20;
  const MemoryStats before = client_.memory_stats(0);
  auto buffer = put(Tensor::zeros(DType::u8, {bytes}));
  EXPECT_EQ(client_.memory_stats(0).bytes_in_use, before.bytes_in_use + bytes);
  EXPECT_GE(client_.memory_stats(0).peak_bytes_in_use, before.bytes_in_use + bytes);
  buffer->ready().wait();
  buffer.reset();
  // (Work that has just told its end may still hold what it used.)
  for (int i = 0; i < 1000 && client_.memory_stats(0).bytes_in_use > before.bytes_in_use; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(client_.memory_stats(0).bytes_in_use, before.bytes_in_use);
}

TEST_P(ClientContract, RefusesArgumentsThatDoNotFit) {
  const auto x = put(row(0));
  const Tensor y = row(0);
  StrangeBuffer strange;
  const auto fails = [&](std::vector<Argument> arguments, std::vector<Result> results) {
    return error_of([&] { last_ = sum_->execute(arguments, results); });
  };
  EXPECT_THAT(fails({{.host = &y}}, {{}, {}}), StartsWith("INVALID_ARGUMENT"));
  EXPECT_THAT(fails({{.host = &y}, {.host = &y}}, {{}}), StartsWith("INVALID_ARGUMENT"));
  EXPECT_THAT(fails({{.host = &y}, {}}, {{}, {}}), StartsWith("INVALID_ARGUMENT"));
  EXPECT_THAT(fails({{.host = &y}, {.buffer = &strange}}, {{}, {}}),
              AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("another backend's buffer")));
  EXPECT_THAT(fails({{.buffer = x.get(), .donate = true}, {.buffer = x.get()}}, {{}, {}}),
              StartsWith("INVALID_ARGUMENT"));
  EXPECT_TRUE(x->to_host().identical(row(0))) << "nothing was launched";
}

TEST_P(ClientContract, RefusesOptionsThatDoNotFit) {
  const auto module = sum_module();
  const auto fails = [&](const CompileOptions& options) {
    return error_of([&] { client_.compile(*module, options); });
  };
  EXPECT_THAT(fails({.num_replicas = 0}), StartsWith("INVALID_ARGUMENT"));
  EXPECT_THAT(fails({.num_partitions = 0}), StartsWith("INVALID_ARGUMENT"));
  EXPECT_THAT(fails({.num_partitions = 1 << 20}),
              AnyOf(StartsWith("INVALID_ARGUMENT"), StartsWith("UNIMPLEMENTED")));
  EXPECT_THAT(fails({.device_assignment = {1 << 20}}), StartsWith("INVALID_ARGUMENT"));
  EXPECT_THAT(fails({.num_replicas = 2, .device_assignment = {0}}), StartsWith("INVALID_ARGUMENT"));
  EXPECT_THAT(fails({.num_replicas = 2, .replicated_parameters = {true}}),
              StartsWith("INVALID_ARGUMENT"));
  EXPECT_THAT(fails({.memory_limit = 8}), StartsWith("RESOURCE_EXHAUSTED"));
  const int nowhere[] = {1 << 20};
  EXPECT_THAT(error_of([&] { client_.buffer_from_host(row(0), {.device_ids = nowhere}); }),
              StartsWith("INVALID_ARGUMENT"));
  EXPECT_THAT(error_of([&] { client_.memory_stats(1 << 20); }), StartsWith("INVALID_ARGUMENT"));
}

// Parts of arrays are the slices of stacked arrays; what every device has whole is there once.
TEST_P(ClientContract, SplitsArraysOverPartitionsOrRefuses) {
  const auto module = hlo::parse(R"(module {
  sdy.mesh @m = <["a"=2]>
  func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>},
                  %y: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{}]>})
      -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>}, tensor<f32>) {
    %0 = stablehlo.add %x, %y : tensor<8xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0]
        : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
    return %0, %1 : tensor<8xf32>, tensor<f32>
  }
})");
  std::unique_ptr<Executable> executable;
  try {
    executable = client_.compile(*module, {.num_partitions = 2});
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::unimplemented) << error.what();
    return;
  }
  const TensorType parts{DType::f32, {2, 4}};
  const TensorType whole{DType::f32, {8}};
  ASSERT_THAT(executable->parameter_types(), ::testing::ElementsAre(parts, whole));
  ASSERT_THAT(executable->result_types(),
              ::testing::ElementsAre(parts, TensorType{DType::f32, {}}));
  const std::vector<float> x = {0, 1, 2, 3, 4, 5, 6, 7};
  const Tensor stacked = Tensor::of<float>({2, 4}, x);
  const auto results = run(*executable, std::vector{stacked, Tensor::of<float>({8}, x)});
  EXPECT_TRUE(results[0].identical(Tensor::of<float>({2, 4}, {0, 2, 4, 6, 8, 10, 12, 14})));
  EXPECT_TRUE(results[1].identical(Tensor::of<float>({}, {56})));
}

// Also one in a function that a branch calls.
TEST_P(ClientContract, RefusesUnknownCustomCallsWhenItCompiles) {
  const auto module =
      hlo::parse(R"(func.func @main(%x: tensor<f32>, %p: tensor<i1>) -> tensor<f32> {
  %r = "stablehlo.if"(%p) ({
    %y = func.call @helper(%x) : (tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%y) : (tensor<f32>) -> ()
  }, {
    "stablehlo.return"(%x) : (tensor<f32>) -> ()
  }) : (tensor<i1>) -> tensor<f32>
  return %r : tensor<f32>
}
func.func private @helper(%x: tensor<f32>) -> tensor<f32> {
  %y = "stablehlo.custom_call"(%x) {call_target_name = "no_such_target"} : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
})");
  EXPECT_THAT(error_of([&] { client_.compile(*module); }),
              AllOf(StartsWith("UNIMPLEMENTED"), HasSubstr("no_such_target")));
}

TEST_P(ClientContract, RunsReplicasOnWholeArrays) {
  const auto program =
      client_.compile(*sum_module(), {.num_replicas = 2, .replicated_parameters = {false, true}});
  EXPECT_EQ(program->parameter_types()[0], (TensorType{DType::f32, {2, 4}}));
  EXPECT_EQ(program->parameter_types()[1], kRow);
  EXPECT_EQ(program->result_types()[0], (TensorType{DType::f32, {2, 4}}));
  const Tensor rows = Tensor::of<float>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const int devices[] = {0, 0};
  const auto x = client_.buffer_from_host(rows, {.device_ids = devices, .stacked = true});
  const Tensor y = row(10);
  last_ = program->execute({{{.buffer = x.get(), .donate = true}, {.host = &y}}}, {{{}, {}}});
  EXPECT_TRUE(x->to_host().identical(Tensor::of<float>({2, 4}, {11, 13, 15, 17, 15, 17, 19, 21})));
  const auto results = run_replicas(client_, *sum_module(), {{{row(1), row(2)}, {row(3), row(4)}}});
  ASSERT_EQ(results.size(), 2);
  EXPECT_TRUE(results[1][0].identical(Tensor::of<float>({4}, {7, 9, 11, 13})));
  EXPECT_TRUE(results[1][1].identical(row(3)));
}

// Stores the bytes of `program`. Skips the test on a client that cannot write programs, after a
// look at its errors.
inline void serialize(Client& client, const Executable& program, std::string& bytes) {
  try {
    bytes = program.serialize();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::unimplemented) << error.what();
    EXPECT_THAT(error_of([&] { client.deserialize("x"); }), StartsWith("UNIMPLEMENTED"));
    GTEST_SKIP() << "the client writes no programs: " << error.what();
  }
}

TEST_P(ClientContract, ReadsTheProgramsThatItWrites) {
  std::string bytes;
  serialize(client_, *sum_, bytes);
  if (IsSkipped()) return;
  const auto again = client_.deserialize(bytes);
  EXPECT_EQ(again->serialize(), bytes);
  EXPECT_EQ(again->stats().argument_bytes, sum_->stats().argument_bytes);
  const std::vector<Tensor> arguments{row(1), row(2)};
  EXPECT_TRUE(run(*again, arguments)[0].identical(run(*sum_, arguments)[0]));
  const auto x = put(row(1));
  last_ =
      again->execute({{{.buffer = x.get(), .donate = true}, {.host = &arguments[1]}}}, {{{}, {}}});
  EXPECT_TRUE(x->to_host().identical(Tensor::of<float>({4}, {3, 5, 7, 9})));
}

TEST_P(ClientContract, ReadsTheOptionsOfTheProgramsThatItWrites) {
  const auto program =
      client_.compile(*sum_module(), {.num_replicas = 2, .replicated_parameters = {false, true}});
  std::string bytes;
  serialize(client_, *program, bytes);
  if (IsSkipped()) return;
  const auto again = client_.deserialize(bytes);
  const std::vector<Tensor> arguments{Tensor::of<float>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), row(10)};
  EXPECT_TRUE(run(*again, arguments)[0].identical(
      Tensor::of<float>({2, 4}, {11, 13, 15, 17, 15, 17, 19, 21})));
}

TEST_P(ClientContract, RefusesBytesThatAreNoProgram) {
  std::string bytes;
  serialize(client_, *sum_, bytes);
  if (IsSkipped()) return;
  const auto refused = [&](const std::string& other) {
    EXPECT_THAT(error_of([&] { client_.deserialize(other); }),
                AllOf(StartsWith("DATA_LOSS"), HasSubstr("compiled program, got")))
        << other;
  };
  refused("x");
  refused(bytes + " ");
  const size_t distance = std::max<size_t>(1, bytes.size() / 60);
  for (size_t i = 0; i < bytes.size(); i += distance) {
    refused(bytes.substr(0, i));
    std::string altered = bytes;
    altered[i] = static_cast<char>(altered[i] ^ 1);
    refused(altered);
  }
}

TEST_P(ClientContract, ServesSeveralThreads) {
  std::vector<std::thread> threads;
  std::vector<std::string> failures(4);
  for (size_t t = 0; t < failures.size(); ++t) {
    threads.emplace_back([&, t] {
      const auto value = put(row(static_cast<float>(t)));
      const Tensor one = Tensor::full(DType::f32, {4}, 1);
      for (int i = 0; i < 20; ++i) {
        sum_->execute({{{.buffer = value.get(), .donate = true}, {.host = &one}}}, {{{}, {}}})
            .then([](const Error*) {});
      }
      if (!value->to_host().identical(row(static_cast<float>(t) + 20))) failures[t] = "differs";
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& failure : failures) EXPECT_EQ(failure, "");
}

}  // namespace systole::runtime::contract
