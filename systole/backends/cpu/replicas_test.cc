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
#include "systole/runtime/run_replicas.h"

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
    std::vector<std::vector<Tensor>> arguments;
    for (uint64_t r = 0; r < kReplicas; ++r) {
      arguments.push_back(hlo::testing::random_arguments(module, seed * 8 + r));
      for (size_t p = 0; p < arguments[r].size(); ++p) {
        if (options.replicated_parameters[p]) arguments[r][p] = arguments[0][p];
      }
    }
    const auto want =
        runtime::run_replicas(runtime::client("reference"), module, arguments, options);
    for (const bool optimize : {true, false}) {
      options.optimize = optimize;
      const auto got = runtime::run_replicas(testing::client(), module, arguments, options);
      for (size_t r = 0; r < want.size(); ++r) {
        for (size_t k = 0; k < want[r].size(); ++k) {
          ASSERT_EQ(hlo::testing::difference(got[r][k], want[r][k], random.tolerances[k]), "")
              << "seed " << seed << ", replica " << r << ", result " << k << "\n"
              << hlo::print(module);
        }
      }
    }
  }
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
