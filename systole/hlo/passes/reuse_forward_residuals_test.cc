#include "systole/hlo/passes/reuse_forward_residuals.h"

#include <gtest/gtest.h>

#include "systole/hlo/passes/dce.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/hlo/testing/equivalence.h"
#include "systole/hlo/testing/loop_programs.h"
#include "systole/stablehlo/text/text.h"

namespace systole::hlo {
namespace {

// Runs the pass; returns the opcodes of the last loop's body afterwards, "" if nothing was changed.
std::string later_body(const std::string& text) {
  const auto module = parse(text);
  const auto before = module->clone();
  const bool changed = ReuseForwardResiduals().run(*module);
  verify(*module);
  EXPECT_EQ(testing::run_difference(*before, *module, 1, false), "");
  DeadCodeElimination().run(*module);
  verify(*module);
  EXPECT_FALSE(ReuseForwardResiduals().run(*module)) << print(*module);
  if (!changed) return "";
  const Instruction* const later = module->entry().results()[0].def;
  std::string opcodes;
  for (const Instruction* instruction : later->region(1).instructions()) {
    if (instruction->traits().has(kLeaf) || instruction->is(Opcode::parameter) ||
        instruction->is(Opcode::return_)) {
      continue;
    }
    opcodes += std::string(instruction->traits().name) + " ";
  }
  return opcodes;
}

TEST(LoopHistoryTest, ReadsWhatTheForwardLoopComputed) {
  // The sum is stacked, so that the row of x is not read again.
  EXPECT_EQ(later_body(testing::loop_and_back("add")), "dynamic_slice reshape xor subtract ");
}

TEST(LoopHistoryTest, StacksTheProductWhereItsUseDiffers) {
  EXPECT_EQ(later_body(testing::loop_and_back("multiply")),
            "dynamic_slice reshape dynamic_slice reshape multiply xor subtract ");
}

TEST(LoopHistoryTest, LeavesRowsOfAnotherStep) {
  std::string text = testing::loop_and_back("add");
  // x is read one step later than the state.
  const std::string read = "%xs = stablehlo.dynamic_slice %x, %k,";
  text.replace(text.find(read), read.size(),
               "%l = stablehlo.subtract %three, %k : tensor<i32>\n"
               "%xs = stablehlo.dynamic_slice %x, %l,");
  EXPECT_EQ(later_body(text),
            "subtract dynamic_slice reshape dynamic_slice reshape add xor subtract ");
}

TEST(LoopHistoryTest, LeavesOtherWeights) {
  std::string text = testing::loop_and_back("add");
  const size_t later = text.find("%g:2");
  const std::string product = "%p = stablehlo.dot_general %h, %u,";
  text.replace(text.find(product, later), product.size(),
               "%v = stablehlo.negate %u : tensor<2x5xi32>\n"
               "%p = stablehlo.dot_general %h, %v,");
  EXPECT_EQ(later_body(text), "");
}

}  // namespace
}  // namespace systole::hlo
