#include "systole/backends/cpu/passes/all_reduces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/backends/cpu/kernels/processes.h"
#include "systole/hlo/ir/builder.h"
#include "systole/hlo/passes/replicas/vectorize_replicas.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/stablehlo/text/text.h"

namespace systole::cpu {
namespace {

using hlo::Opcode;
using hlo::Value;
using ::testing::ElementsAre;

// Writes the main function of a program of two replicas of this process.
class SumsProgram {
 public:
  // A value of each replica.
  Value parameter(DType dtype, int64_t size) {
    return b_.computation().add_parameter({dtype, {2, size}});
  }
  Value exp(Value x) { return b_.unary(Opcode::exponential, x); }
  Value twice(Value x) { return b_.add(x, x); }
  Value sum(Value stacked) {
    const hlo::CustomCallAttrs call{.call_target_name = hlo::kSumReplicas, .has_side_effect = true};
    return b_.op(Opcode::custom_call, {stacked}, call, {{stacked.dtype(), {stacked.shape()[1]}}})
        ->result();
  }
  Value for_replicas(Value x) { return b_.broadcast_in_dim(x, {2, x.shape()[0]}, {1}); }

  // Runs both passes on a program with these results. Returns its steps, "start 2" for a call with
  // two operands, without reshapes and slices.
  std::vector<std::string> steps(std::vector<Value> results) {
    b_.computation().set_results(std::move(results));
    EXPECT_TRUE(AllReduceCombiner(runtime::ProcessGroup()).run(module_));
    hlo::verify(module_);
    EXPECT_TRUE(AllReduceScheduler().run(module_));
    hlo::verify(module_);
    EXPECT_FALSE(AllReduceCombiner(runtime::ProcessGroup()).run(module_));
    std::vector<std::string> steps;
    for (const hlo::Instruction* x : module_.entry().instructions()) {
      const std::string* const call = process_call(*x);
      if (x->is(Opcode::parameter) || x->is(Opcode::return_)) continue;
      if (x->is(Opcode::reshape) || x->is(Opcode::slice)) continue;
      steps.push_back(call == nullptr            ? std::string(to_string(x->opcode()))
                      : *call == kAllReduceStart ? fmt::format("start {}", x->num_operands())
                                                 : "finish");
    }
    return steps;
  }

 private:
  hlo::Module module_;
  hlo::Builder b_{module_.add_function("main")};
};

TEST(AllReduceCombiner, OfOneTypeThatNeedNoOther) {
  SumsProgram p;
  const Value a = p.sum(p.parameter(DType::f32, 5));
  const Value b = p.sum(p.parameter(DType::s32, 3));
  const Value c = p.sum(p.parameter(DType::f32, 7));
  const Value d = p.sum(p.for_replicas(p.twice(a)));
  EXPECT_THAT(p.steps({a, b, c, d}),
              ElementsAre("start 1", "start 2", "finish", "add", "broadcast_in_dim", "start 1",
                          "finish", "finish"));
}

TEST(AllReduceCombiner, UpToANumberOfBytes) {
  SumsProgram p;
  std::vector<Value> sums;
  for (int i = 0; i < 3; ++i) {
    sums.push_back(p.sum(p.parameter(DType::f32, runtime::max_joined_bytes(1) / 8)));
  }
  EXPECT_THAT(p.steps(sums), ElementsAre("start 2", "start 1", "finish", "finish"));
}

// The gradients of two layers and their updates.
TEST(AllReduceScheduler, WithWhatNeedsThemNot) {
  SumsProgram p;
  const Value x = p.parameter(DType::f32, 4);
  const Value y = p.parameter(DType::f64, 4);
  const Value update_x = p.twice(p.sum(p.exp(x)));
  const Value update_y = p.twice(p.sum(p.exp(y)));
  EXPECT_THAT(p.steps({update_x, update_y}),
              ElementsAre("exponential", "start 1", "exponential", "start 1", "finish", "add",
                          "finish", "add"));
}

}  // namespace
}  // namespace systole::cpu
