// Replicas on this backend against the reference backend's, which runs each on a thread of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/backends/cpu/cpu_backend.h"
#include "systole/backends/cpu/testing/compare.h"
#include "systole/base/error.h"
#include "systole/base/testing/error_of.h"
#include "systole/hlo/ir/builder.h"
#include "systole/hlo/passes/inline_calls.h"
#include "systole/hlo/testing/random_module.h"
#include "systole/runtime/registry.h"
#include "systole/runtime/run_replicas.h"
#include "systole/stablehlo/text/text.h"

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

// Groups name replicas, so that a program of one of them cannot be planned.
TEST(CpuReplicas, CountsTheMemoryOfEachCoreInGroups) {
  const auto module = hlo::parse(R"(func.func @main(%a: tensor<1024xf32>) -> tensor<1024xf32> {
  %0 = "stablehlo.collective_permute"(%a)
      <{source_target_pairs = dense<[[0, 1], [1, 0], [2, 3], [3, 2]]> : tensor<4x2xi64>}>
      : (tensor<1024xf32>) -> tensor<1024xf32>
  return %0 : tensor<1024xf32>
})");
  const auto compile = [&](int64_t limit) {
    testing::client().compile(*module, {.num_replicas = 4, .memory_limit = limit});
  };
  compile(16 << 10);
  EXPECT_THAT(systole::testing::error_of([&] { compile(2 << 10); }),
              ::testing::HasSubstr("RESOURCE_EXHAUSTED: core: memory"));
}

hlo::DotAttrs contracting(int64_t lhs, int64_t rhs) {
  return {.lhs_contracting_dimensions = {lhs}, .rhs_contracting_dimensions = {rhs}};
}

// A step of training: w2 - sum of gradients, and the gradient's norm of the replica's own examples.
// The hidden layer has 512 KiB a replica.
void write_step(hlo::Module& module) {
  hlo::Computation& main = module.add_function("main");
  const Value w1 = main.add_parameter({DType::f32, {64, 512}});
  const Value w2 = main.add_parameter({DType::f32, {512, 8}});
  const Value x = main.add_parameter({DType::f32, {256, 64}});
  Builder b(main);
  const Value z = b.dot_general(x, w1, contracting(1, 0));
  const Value hidden = b.dot_general(b.unary(Opcode::tanh, z),
                                     b.splat({DType::f32, {512, 512}}, 0.01), contracting(1, 0));
  const Value y = b.dot_general(hidden, w2, contracting(1, 0));
  const Value id = b.convert(b.op(Opcode::replica_id, {})->result(), DType::f32);
  const Value weighted = b.multiply(y, b.broadcast(b.add(id, b.scalar(DType::f32, 1)), y.shape()));
  const Value gradient = b.dot_general(hidden, weighted, contracting(0, 0));
  const Value mean = all_reduce(b, b.reduce(y, Opcode::add, {0}));
  main.set_results({b.subtract(w2, all_reduce(b, gradient)),
                    b.reduce(b.multiply(y, b.broadcast(mean, y.shape())), Opcode::add, {0, 1})});
}

TEST(CpuReplicas, ThoseThatDoNotFitSideBySideRunInTurn) {
  hlo::Module module;
  write_step(module);
  runtime::CompileOptions options{.num_replicas = kReplicas,
                                  .replicated_parameters = {true, true, false}};
  std::vector<std::vector<Tensor>> arguments;
  for (uint64_t r = 0; r < kReplicas; ++r) {
    arguments.push_back(hlo::testing::random_arguments(module, r));
    arguments[r][0] = arguments[0][0];
    arguments[r][1] = arguments[0][1];
  }
  const auto side_by_side = testing::client().compile(module, options);
  const runtime::ExecutableStats& all = side_by_side->stats();
  const int64_t limit = all.argument_bytes + all.result_bytes + all.temp_bytes / 2;
  const auto small = make_client({}, limit);
  const int64_t in_turn = small->compile(module, options)->stats().temp_bytes;
  EXPECT_LT(in_turn, all.temp_bytes / 2);
  const auto want = runtime::run_replicas(testing::client(), module, arguments, options);
  const auto got = runtime::run_replicas(*small, module, arguments, options);
  // Result 1 is a sum of 2048 terms of either sign, some in the thousands.
  constexpr double kTolerance[] = {1e-4, 0.5};
  for (size_t r = 0; r < want.size(); ++r) {
    for (size_t k = 0; k < want[r].size(); ++k) {
      EXPECT_EQ(hlo::testing::difference(got[r][k], want[r][k], kTolerance[k]), "")
          << "replica " << r << ", result " << k;
    }
  }
  EXPECT_THAT(systole::testing::error_of(
                  [&] { make_client({}, all.argument_bytes)->compile(module, options); }),
              ::testing::HasSubstr("RESOURCE_EXHAUSTED: cpu: memory of "));
}

}  // namespace
}  // namespace systole::cpu
