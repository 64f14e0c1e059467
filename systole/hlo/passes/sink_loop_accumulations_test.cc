#include "systole/hlo/passes/sink_loop_accumulations.h"

#include <gtest/gtest.h>

#include "systole/hlo/passes/dce.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/hlo/testing/equivalence.h"
#include "systole/hlo/testing/loop_programs.h"
#include "systole/stablehlo/text/text.h"

namespace systole::hlo {
namespace {

int count_in_loops(const Computation& computation, Opcode opcode, bool inside = false) {
  int count = 0;
  for (const Instruction* instruction : computation.instructions()) {
    if (inside && instruction->is(opcode)) ++count;
    for (const auto& region : instruction->regions()) {
      count += count_in_loops(*region, opcode, inside || instruction->is(Opcode::while_));
    }
  }
  return count;
}

// Runs the pass; returns how often `opcode` is left inside loops, -1 if nothing was changed.
int left_inside(const std::string& text, Opcode opcode) {
  const auto module = parse(text);
  const auto before = module->clone();
  const bool changed = SinkLoopAccumulations().run(*module);
  verify(*module);
  EXPECT_EQ(testing::run_difference(*before, *module, 1, false), "");
  DeadCodeElimination().run(*module);
  verify(*module);
  EXPECT_FALSE(SinkLoopAccumulations().run(*module)) << print(*module);
  return changed ? count_in_loops(module->entry(), opcode) : -1;
}

TEST(LoopSumsTest, ProductOfRowsOfArraysFromOutside) {
  EXPECT_EQ(left_inside(testing::loop_over_rows("tensor<2x5xi32>", R"(
      %p = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<3x2xi32>, tensor<3x5xi32>) -> tensor<2x5xi32>
      %next = stablehlo.add %acc, %p : tensor<2x5xi32>)"),
                        Opcode::dot_general),
            0);
}

TEST(LoopSumsTest, ProductOfAValueOfTheBody) {
  EXPECT_EQ(left_inside(testing::loop_over_rows("tensor<5x2xi32>", R"(
      %n = stablehlo.negate %b : tensor<3x5xi32>
      %p = stablehlo.dot_general %n, %a, contracting_dims = [0] x [0] : (tensor<3x5xi32>, tensor<3x2xi32>) -> tensor<5x2xi32>
      %next = stablehlo.add %p, %acc : tensor<5x2xi32>)"),
                        Opcode::dot_general),
            0);
}

TEST(LoopSumsTest, SumOfAReduction) {
  EXPECT_EQ(left_inside(testing::loop_over_rows("tensor<5xi32>", R"(
      %n = stablehlo.negate %b : tensor<3x5xi32>
      %s = stablehlo.reduce(%n init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<3x5xi32>, tensor<i32>) -> tensor<5xi32>
      %next = stablehlo.add %acc, %s : tensor<5xi32>)"),
                        Opcode::reduce),
            0);
}

TEST(LoopSumsTest, LeavesASumThatTheBodyReads) {
  EXPECT_EQ(left_inside(testing::loop_over_rows("tensor<2x5xi32>", R"(
      %p = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<3x2xi32>, tensor<3x5xi32>) -> tensor<2x5xi32>
      %q = stablehlo.negate %acc : tensor<2x5xi32>
      %m = stablehlo.maximum %p, %q : tensor<2x5xi32>
      %next = stablehlo.add %acc, %m : tensor<2x5xi32>)"),
                        Opcode::dot_general),
            -1);
}

TEST(LoopSumsTest, LeavesALoopOfUnknownLength) {
  std::string text = testing::loop_over_rows("tensor<2x5xi32>", R"(
      %p = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<3x2xi32>, tensor<3x5xi32>) -> tensor<2x5xi32>
      %next = stablehlo.add %acc, %p : tensor<2x5xi32>)");
  const std::string limit = "%four = stablehlo.constant dense<4> : tensor<i32>";
  text.replace(text.find(limit), limit.size(), R"(
  %x1 = stablehlo.slice %x [0:1, 0:1, 0:1] : (tensor<4x3x2xi32>) -> tensor<1x1x1xi32>
  %x0 = stablehlo.reshape %x1 : (tensor<1x1x1xi32>) -> tensor<i32>
  %four = stablehlo.minimum %x0, %one : tensor<i32>)");
  EXPECT_EQ(left_inside(text, Opcode::dot_general), -1);
}

}  // namespace
}  // namespace systole::hlo
