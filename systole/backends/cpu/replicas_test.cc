// Replicas on this backend against the reference backend's, which runs each on a thread of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/backends/cpu/testing/compare.h"
#include "systole/base/error.h"
#include "systole/hlo/ir/builder.h"
#include "systole/hlo/passes/inline_calls.h"
#include "systole/hlo/testing/random_module.h"
#include "systole/hlo/text/text.h"
#include "systole/runtime/registry.h"

namespace systole::cpu {
namespace {

using hlo::Builder;
using hlo::Opcode;
using hlo::Value;

constexpr int kReplicas = 4;

Value all_reduce(Builder& b, Value x) {
  hlo::CollectiveAttrs attrs;
  attrs.replica_groups = Tensor(DType::s64, {0, 0});
  return b
      .op_with_regions(
          Opcode::all_reduce, {x}, attrs,
          [&](hlo::Instruction& op) { hlo::fill_reducer(op.add_region(), Opcode::add, x.dtype()); })
      ->result();
}

// Arguments and results of all replicas, one replica after the other.
std::vector<Tensor> run(runtime::Client& client, const hlo::Module& module,
                        const std::vector<Tensor>& arguments,
                        const runtime::CompileOptions& options) {
  const auto executable = client.compile(module, options);
  std::vector<Tensor> results(kReplicas * executable->result_types().size());
  std::vector<runtime::Argument> given;
  for (const Tensor& argument : arguments) given.push_back({.host = &argument});
  std::vector<runtime::Result> wanted;
  for (Tensor& result : results) wanted.push_back({.host = &result});
  executable->execute(given, wanted);
  return results;
}

TEST(CpuReplicas, RandomProgramsAgreeWithTheReference) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    hlo::testing::RandomModule random = hlo::testing::random_module(seed, {.dtypes = {DType::f32}});
    hlo::Module& module = *random.module;
    hlo::InlineCalls().run(module);
    hlo::Computation& main = module.entry();
    std::vector<Value> values(main.results().begin(), main.results().end());
    Builder b(main, main.terminator());
    for (size_t k = 0; k < random.tolerances.size(); ++k) {
      if (values[k].dtype() == DType::f32) values.push_back(all_reduce(b, values[k]));
    }
    random.tolerances.resize(values.size(), 1);
    main.set_results(values);
    RandomStream coins(seed, 5);
    runtime::CompileOptions options{.num_replicas = kReplicas};
    for (int p = 0; p < main.num_parameters(); ++p) {
      options.replicated_parameters.push_back(coins.next_below(2) == 0);
    }
    std::vector<Tensor> arguments;
    for (uint64_t r = 0; r < kReplicas; ++r) {
      const std::vector<Tensor> own = hlo::testing::random_arguments(module, seed * 8 + r);
      for (size_t p = 0; p < own.size(); ++p) {
        arguments.push_back(r > 0 && options.replicated_parameters[p] ? arguments[p] : own[p]);
      }
    }
    const auto want = run(runtime::client("reference"), module, arguments, options);
    for (const bool optimize : {true, false}) {
      options.optimize = optimize;
      const auto got = run(testing::client(), module, arguments, options);
      for (size_t k = 0; k < want.size(); ++k) {
        ASSERT_EQ(hlo::testing::difference(got[k], want[k],
                                           random.tolerances[k % random.tolerances.size()]),
                  "")
            << "seed " << seed << ", result " << k << "\n"
            << hlo::print(module);
      }
    }
  }
}

// Arguments that lie in a row are read where they are; a buffer is updated in place.
TEST(CpuReplicas, TakesArgumentsInARowOrApart) {
  hlo::Module module;
  hlo::Computation& main = module.add_function("main");
  const TensorType type{DType::f32, {2}};
  const Value w = main.add_parameter(type);
  const Value x = main.add_parameter(type);
  const Value y = main.add_parameter(type);
  Builder b(main);
  main.set_results({b.add(w, all_reduce(b, x)), b.add(x, y)});
  module.aliases = {{0, 0}};
  const auto executable = testing::client().compile(
      module, {.num_replicas = 2, .replicated_parameters = {true, false, false}});
  const auto buffer = testing::client().buffer_from_host(Tensor::of<float>({2}, {100, 200}));
  const Tensor xs = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  const Tensor x0 = Tensor::view(DType::f32, {2}, const_cast<void*>(xs.slice(0, 1).raw()));
  const Tensor x1 = Tensor::view(DType::f32, {2}, const_cast<void*>(xs.slice(1, 2).raw()));
  const Tensor y0 = Tensor::of<float>({2}, {10, 20});
  const Tensor y1 = Tensor::of<float>({2}, {30, 40});
  Tensor sums[2];
  executable->execute(
      {{{.buffer = buffer.get()}, {.host = &x0}, {.host = &y0}, {}, {.host = &x1}, {.host = &y1}}},
      {{{}, {.host = &sums[0]}, {}, {.host = &sums[1]}}});
  EXPECT_TRUE(buffer->to_host().identical(Tensor::of<float>({2}, {104, 206})));
  EXPECT_TRUE(sums[0].identical(Tensor::of<float>({2}, {11, 22})));
  EXPECT_TRUE(sums[1].identical(Tensor::of<float>({2}, {33, 44})));
}

// One replica needs 6 KiB, all of them 24.
TEST(CpuReplicas, CountsTheMemoryOfEachCore) {
  hlo::Module module;
  hlo::Computation& main = module.add_function("main");
  const Value x = main.add_parameter({DType::f32, {1024}}, {"images", {}});
  Builder b(main);
  main.set_results({b.slice(b.negate(x), {0}, {512})});
  const auto compile = [&](int64_t limit) {
    try {
      testing::client().compile(module, {.num_replicas = kReplicas, .memory_limit = limit});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(compile(8 << 10), "");
  EXPECT_THAT(compile(2 << 10),
              ::testing::AllOf(::testing::HasSubstr("RESOURCE_EXHAUSTED: core: memory"),
                               ::testing::HasSubstr("expected at most 2.0 KiB"),
                               ::testing::HasSubstr("node 'images'")));
}

}  // namespace
}  // namespace systole::cpu
