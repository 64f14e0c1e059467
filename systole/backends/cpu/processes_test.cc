// Programs that span processes: every split of the replicas over processes gives the same bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "systole/backends/cpu/testing/compare.h"
#include "systole/base/testing/error_of.h"
#include "systole/hlo/ir/builder.h"
#include "systole/hlo/passes/inline_calls.h"
#include "systole/hlo/testing/random_module.h"
#include "systole/runtime/process_group.h"
#include "systole/runtime/run_replicas.h"
#include "systole/stablehlo/text/text.h"

namespace systole::cpu {
namespace {

using runtime::ProcessGroup;

// By replica, then by result.
using Values = std::vector<std::vector<Tensor>>;

Values run_on(int processes, const hlo::Module& module, const Values& arguments,
              const runtime::CompileOptions& options) {
  const auto share = static_cast<int64_t>(arguments.size()) / processes;
  const auto run_share = [&](ProcessGroup& group) {
    runtime::CompileOptions own = options;
    own.processes = &group;
    const std::span all(arguments);
    return runtime::run_replicas(
        testing::client(), module,
        all.subspan(static_cast<size_t>(group.rank() * share), static_cast<size_t>(share)), own);
  };
  if (processes == 1) {
    ProcessGroup alone;
    return run_share(alone);
  }
  auto steps = runtime::make_in_memory_collectives(processes);
  auto rare = runtime::make_in_memory_collectives(processes);
  std::vector<Values> shares(static_cast<size_t>(processes));
  std::vector<std::thread> threads;
  for (size_t p = 0; p < shares.size(); ++p) {
    threads.emplace_back([&, p] {
      ProcessGroup group(std::move(steps[p]), std::move(rare[p]), nullptr);
      EXPECT_EQ(systole::testing::error_of([&] { shares[p] = run_share(group); }), "no error");
    });
  }
  for (std::thread& thread : threads) thread.join();
  Values values;
  for (Values& own : shares) values.insert(values.end(), own.begin(), own.end());
  return values;
}

// "" if every number of processes gives the same bits.
std::string compare(const hlo::Module& module, const Values& arguments,
                    const runtime::CompileOptions& options = {}) {
  const auto replicas = static_cast<int>(arguments.size());
  const Values want = run_on(1, module, arguments, options);
  for (int processes = 2; processes <= replicas; ++processes) {
    if (replicas % processes != 0) continue;
    const Values got = run_on(processes, module, arguments, options);
    if (got.size() != want.size()) return fmt::format("{} processes failed", processes);
    for (size_t r = 0; r < want.size(); ++r) {
      for (size_t k = 0; k < want[r].size(); ++k) {
        if (got[r][k].identical(want[r][k])) continue;
        return fmt::format("{} processes, replica {}, result {}: got {}, expected {}", processes, r,
                           k, got[r][k].to_string(4), want[r][k].to_string(4));
      }
    }
  }
  return "";
}

// Arguments of each replica, from -1 to 1.
Values random_values(const hlo::Module& module, int replicas, uint64_t seed = 1) {
  Values all;
  for (int r = 0; r < replicas; ++r) {
    RandomStream random(seed, static_cast<uint64_t>(r));
    std::vector<Tensor>& own = all.emplace_back();
    for (int p = 0; p < module.entry().num_parameters(); ++p) {
      own.push_back(testing::random_tensor(random, module.entry().parameter(p).type(), -1, 1));
    }
  }
  return all;
}

struct SplitProgram {
  std::string name;
  std::string body;  // of f32[3,4] -> f32[3,4]
};
std::ostream& operator<<(std::ostream& out, const SplitProgram& row) { return out << row.name; }

class CpuProcesses : public ::testing::TestWithParam<SplitProgram> {};

TEST_P(CpuProcesses, GiveTheSameBitsForEverySplit) {
  const auto module = hlo::parse("func.func @main(%a: tensor<3x4xf32>) -> tensor<3x4xf32> {\n" +
                                 GetParam().body + "\n}");
  for (const int replicas : {4, 6, 8}) {
    EXPECT_EQ(compare(*module, random_values(*module, replicas)), "") << replicas << " replicas";
  }
}

constexpr const char* kAdd = R"(
^bb0(%x: tensor<f32>, %y: tensor<f32>):
  %z = "stablehlo.add"(%x, %y) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  "stablehlo.return"(%z) : (tensor<f32>) -> ()
)";
std::string sum_of(const std::string& operand, const std::string& result) {
  return result + " = \"stablehlo.all_reduce\"(" + operand + ") ({" + kAdd +
         R"(}) {replica_groups = dense<> : tensor<0x0xi64>}
  : (tensor<3x4xf32>) -> tensor<3x4xf32>
)";
}
const std::string kSum = sum_of("%v", "%s");

INSTANTIATE_TEST_SUITE_P(
    Programs, CpuProcesses,
    ::testing::Values(
        SplitProgram{"sum",
                     R"(%v = "stablehlo.exponential"(%a) : (tensor<3x4xf32>) -> tensor<3x4xf32>
)" + kSum + R"(
%r = "stablehlo.multiply"(%s, %a) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
return %r : tensor<3x4xf32>)"},
        SplitProgram{"gradient", R"(%g = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0]
  : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<4x4xf32>
%v = stablehlo.slice %g [0:3, 0:4] : (tensor<4x4xf32>) -> tensor<3x4xf32>
)" + kSum + R"(
return %s : tensor<3x4xf32>)"},
        SplitProgram{
            "joined",
            sum_of("%a", "%s") +
                R"(%v = "stablehlo.exponential"(%a) : (tensor<3x4xf32>) -> tensor<3x4xf32>
)" + sum_of("%v", "%t") +
                R"(%p = "stablehlo.multiply"(%s, %a) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
)" + sum_of("%p", "%u") +
                R"(%r = "stablehlo.subtract"(%t, %u) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
return %r : tensor<3x4xf32>)"},
        SplitProgram{"replica", R"(%n = "stablehlo.replica_id"() : () -> tensor<ui32>
%f = "stablehlo.convert"(%n) : (tensor<ui32>) -> tensor<f32>
%b = "stablehlo.broadcast_in_dim"(%f) {broadcast_dimensions = array<i64>}
  : (tensor<f32>) -> tensor<3x4xf32>
%r = "stablehlo.add"(%a, %b) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
return %r : tensor<3x4xf32>)"},
        SplitProgram{"permute", R"(%r = "stablehlo.collective_permute"(%a)
  {source_target_pairs = dense<[[0, 3], [3, 1], [1, 2]]> : tensor<3x2xi64>}
  : (tensor<3x4xf32>) -> tensor<3x4xf32>
return %r : tensor<3x4xf32>)"}),
    [](const auto& info) { return info.param.name; });

TEST(CpuProcesses, GiveTheSameBitsOfRandomPrograms) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    hlo::testing::RandomModule random = hlo::testing::random_module(seed, {.dtypes = {DType::f32}});
    hlo::Module& module = *random.module;
    hlo::InlineCalls().run(module);
    hlo::Computation& main = module.entry();
    std::vector<hlo::Value> values(main.results().begin(), main.results().end());
    hlo::Builder b(main, main.terminator());
    hlo::CollectiveAttrs all;
    all.replica_groups = Tensor(DType::s64, {0, 0});
    for (size_t k = 0; k < random.tolerances.size(); ++k) {
      if (values[k].dtype() != DType::f32) continue;
      values.push_back(
          b.op_with_regions(hlo::Opcode::all_reduce, {values[k]}, all, [](hlo::Instruction& op) {
             hlo::fill_reducer(op.add_region(), hlo::Opcode::add, DType::f32);
           })->result());
    }
    main.set_results(values);
    Values arguments;
    for (uint64_t r = 0; r < 4; ++r) {
      arguments.push_back(hlo::testing::random_arguments(module, seed * 8 + r));
    }
    EXPECT_EQ(compare(module, arguments), "") << "seed " << seed << "\n" << hlo::print(module);
  }
}

TEST(CpuProcesses, NeedAGroup) {
  const auto module = hlo::parse(R"(func.func @main(%a: tensor<2x4xf32>) -> tensor<4xf32> {
  %s = "stablehlo.custom_call"(%a) {call_target_name = "systole.sum_replicas"}
    : (tensor<2x4xf32>) -> tensor<4xf32>
  return %s : tensor<4xf32>
})");
  EXPECT_THAT(systole::testing::error_of([&] { testing::client().compile(*module); }),
              ::testing::HasSubstr("FAILED_PRECONDITION: cpu: custom_call 'systole.sum_replicas'"));
}

}  // namespace
}  // namespace systole::cpu
