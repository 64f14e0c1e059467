// Programs that cost a careless compiler time, memory or its stack.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/testing/error_of.h"
#include "systole/base/testing/sanitized.h"
#include "systole/hlo/analysis/counted_loop.h"
#include "systole/hlo/analysis/queries.h"
#include "systole/hlo/ir/budget.h"
#include "systole/hlo/ir/callees.h"
#include "systole/hlo/passes/dce.h"
#include "systole/hlo/passes/inline_calls.h"
#include "systole/hlo/passes/pipeline.h"
#include "systole/hlo/semantics/evaluator.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/hlo/testing/bombs.h"
#include "systole/stablehlo/text/text.h"

namespace systole::hlo {
namespace {

using systole::testing::error_of;
using systole::testing::kSanitized;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Frames of instrumented code are several times as large.
constexpr size_t kSmallStack = (kSanitized ? 8 : 1) << 20;

std::string on_small_stack(const std::function<void()>& action) {
  return testing::on_stack_of(kSmallStack, action);
}

TEST(HostilePrograms, DoublingCallsAreRefused) {
  for (const bool composites : {false, true}) {
    const auto module = parse(testing::doubling_calls(40, composites));
    verify(*module);
    EXPECT_THAT(error_of([&] { optimize(*module); }),
                AllOf(HasSubstr("RESOURCE_EXHAUSTED: inline_calls: ops at a time, got "),
                      HasSubstr(" of a program that had "), HasSubstr(", in function 'main'")));
  }
}

TEST(HostilePrograms, DoublingCallsAreLookedAtOnce) {
  const auto module = parse(testing::doubling_calls(60));
  const Instruction& call = *module->entry().results()[0].def;
  EXPECT_TRUE(is_pure(call));
  DeadCodeElimination().run(*module);
  EXPECT_EQ(module->functions().size(), 62U);
  EXPECT_EQ(find_recursion(*module), nullptr);
  EXPECT_EQ(callees_first(*module).front()->name(), "f60");
}

TEST(HostilePrograms, LongChainsOfCallsAreInlined) {
  const int levels = kSanitized ? 5000 : 60000;
  EXPECT_EQ("", on_small_stack([&] {
              const auto module = parse(testing::chain_of_calls(levels));
              verify(*module);
              is_pure(*module->entry().results()[0].def);
              optimize(*module);
              verify(*module);
              EXPECT_EQ(module->functions().size(), 1U);
              EXPECT_EQ(module->entry().num_instructions(), 3);
            }));
}

TEST(HostilePrograms, LongChainsOfCallsAreNotEvaluated) {
  const auto module = parse(testing::chain_of_calls(5000));
  const std::vector<Tensor> x{Tensor::full(DType::f32, {4}, 1)};
  EXPECT_THAT(on_small_stack([&] { Evaluator().run(module->entry(), x); }),
              HasSubstr("calls and regions within each other, got more than 512, expected fewer"));
}

TEST(HostilePrograms, LongChainsOfOps) {
  const int length = kSanitized ? 20000 : 200000;
  EXPECT_EQ("", on_small_stack([&] {
              const auto module = parse(testing::chain_of_ops(length));
              verify(*module);
              optimize(*module);
              EXPECT_EQ(module->entry().num_instructions(), length + 3);
              EXPECT_GT(print(*module).size(), 0U);
              EXPECT_EQ(module->clone()->entry().num_instructions(), length + 3);
            }));
}

TEST(HostilePrograms, LongBranchesAreInlined) {
  const int length = kSanitized ? 5000 : 20000;
  EXPECT_EQ("", on_small_stack([&] {
              const auto module = parse(testing::chain_in_constant_branch(length));
              optimize(*module);
              EXPECT_EQ(module->entry().num_instructions(), length + 2);
            }));
}

TEST(HostilePrograms, LongChainsOfInvariantsAreHoisted) {
  EXPECT_EQ("", on_small_stack([&] {
              const auto module = parse(testing::chain_of_invariants(kSanitized ? 1000 : 10000));
              optimize(*module);
              verify(*module);
            }));
}

TEST(HostilePrograms, NestedLoopsToTheLimit) {
  EXPECT_EQ("", on_small_stack([&] {
              const auto module = parse(testing::nested_loops(60));
              verify(*module);
              optimize(*module);
              verify(*module);
              EXPECT_GT(print(*module).size(), 0U);
            }));
  EXPECT_THAT(error_of([] { parse(testing::nested_loops(70)); }), HasSubstr("64"));
}

TEST(HostilePrograms, LoopsThatCallsNestAreRefusedAtALimit) {
  EXPECT_THAT(on_small_stack([&] {
                const auto module = parse(testing::loops_in_calls(10, 50));
                verify(*module);
                InlineCalls().run(*module);
              }),
              AllOf(HasSubstr("RESOURCE_EXHAUSTED: while: regions, got more than 128 levels"),
                    HasSubstr("expected fewer")));
  EXPECT_EQ("", on_small_stack([&] {
              const auto module = parse(testing::loops_in_calls(2, 60));
              optimize(*module);
              verify(*module);
              EXPECT_GT(print(*module).size(), 0U);
            }));
}

TEST(HostilePrograms, ConditionsOfManyTermsAreUnknown) {
  const auto module = parse(testing::doubling_condition(60));
  const Instruction& loop = *module->entry().results()[0].def;
  EXPECT_FALSE(is_pure(loop));
  EXPECT_FALSE(LoopCounters(loop).trips().has_value());
  optimize(*module);
}

TEST(HostilePrograms, DoublingConcatenationsKeepTheirOperands) {
  const auto module = parse(testing::doubling_concatenations(28));
  optimize(*module);
  for (const Instruction* x : module->entry().instructions()) EXPECT_LE(x->num_operands(), 64);
}

TEST(HostilePrograms, ConstantsAreFoldedWithinTheBudget) {
  // Each would have 256 kB.
  const auto module = parse(testing::foldable_constants(2000, 1 << 16));
  optimize(*module);
  int64_t bytes = 0;
  for (const Instruction* x : module->entry().instructions()) {
    if (x->is(Opcode::constant)) bytes += x->attrs<ConstantAttrs>().value.byte_size();
  }
  EXPECT_GT(bytes, int64_t{1} << 20);
  EXPECT_LT(bytes, Budget::kConstantBytes + 5000 * Budget::kConstantBytesEach);
}

}  // namespace
}  // namespace systole::hlo
