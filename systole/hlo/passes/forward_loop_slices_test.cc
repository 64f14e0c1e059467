#include "systole/hlo/passes/forward_loop_slices.h"

#include <gtest/gtest.h>

#include "systole/hlo/passes/dce.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/hlo/testing/equivalence.h"
#include "systole/hlo/testing/loop_programs.h"
#include "systole/stablehlo/text/text.h"

namespace systole::hlo {
namespace {

// The program after the pass and dead code elimination.
std::unique_ptr<Module> simplified(const std::string& text, bool& changed) {
  auto module = parse(text);
  const auto before = module->clone();
  changed = ForwardLoopSlices().run(*module);
  verify(*module);
  EXPECT_EQ(testing::run_difference(*before, *module, 1, false), "");
  DeadCodeElimination().run(*module);
  verify(*module);
  EXPECT_FALSE(ForwardLoopSlices().run(*module)) << print(*module);
  return module;
}

// Each iteration adds a row of y to a row of %acc: the row `index`.
std::string adding_rows(const std::string& index) {
  return testing::loop_over_rows(
      "tensor<4x3x5xi32>",
      R"(
      %old = stablehlo.dynamic_slice %acc, )" +
          index +
          R"(, %zero, %zero, sizes = [1, 3, 5] : (tensor<4x3x5xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x3x5xi32>
      %sum = stablehlo.add %old, %ys : tensor<1x3x5xi32>
      %next = stablehlo.dynamic_update_slice %acc, %sum, )" +
          index +
          R"(, %zero, %zero : (tensor<4x3x5xi32>, tensor<1x3x5xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x3x5xi32>)");
}

TEST(LoopRowsTest, RowsThatAreSetOnceAreReadFromTheInitialArray) {
  bool changed = false;
  const auto module = simplified(adding_rows("%i"), changed);
  EXPECT_TRUE(changed);
  const Instruction& loop = *module->entry().results()[0].def;
  EXPECT_EQ(loop.region(1).parameter(1).def->users().size(), 1U);
}

TEST(LoopRowsTest, LeavesARowThatAllIterationsSet) {
  bool changed = false;
  simplified(adding_rows("%one"), changed);
  EXPECT_FALSE(changed);
}

TEST(LoopRowsTest, ComputesACounterThatAnEarlierLoopStacked) {
  // The first loop stacks i + 3; the second goes back and sums up the entries times k.
  bool changed = false;
  const auto module = simplified(R"(func.func @main() -> tensor<i32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %four = stablehlo.constant dense<4> : tensor<i32>
  %stack0 = stablehlo.constant dense<0> : tensor<4xi32>
  %f:2 = stablehlo.while(%i = %zero, %stack = %stack0) : tensor<i32>, tensor<4xi32>
    cond {
      %more = stablehlo.compare LT, %i, %four, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %shifted = stablehlo.add %i, %three : tensor<i32>
      %row = stablehlo.reshape %shifted : (tensor<i32>) -> tensor<1xi32>
      %stacked = stablehlo.dynamic_update_slice %stack, %row, %i : (tensor<4xi32>, tensor<1xi32>, tensor<i32>) -> tensor<4xi32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %stacked : tensor<i32>, tensor<4xi32>
    }
  %g:2 = stablehlo.while(%k = %three, %sum = %zero) : tensor<i32>, tensor<i32>
    cond {
      %more = stablehlo.compare GE, %k, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %row = stablehlo.dynamic_slice %f#1, %k, sizes = [1] : (tensor<4xi32>, tensor<i32>) -> tensor<1xi32>
      %entry = stablehlo.reshape %row : (tensor<1xi32>) -> tensor<i32>
      %product = stablehlo.multiply %entry, %k : tensor<i32>
      %next = stablehlo.add %sum, %product : tensor<i32>
      %j = stablehlo.subtract %k, %one : tensor<i32>
      stablehlo.return %j, %next : tensor<i32>, tensor<i32>
    }
  return %g#1 : tensor<i32>
}
)",
                                 changed);
  EXPECT_TRUE(changed);
  for (const Instruction* instruction : module->entry().results()[0].def->region(1).instructions())
    EXPECT_FALSE(instruction->is(Opcode::dynamic_slice));
}

}  // namespace
}  // namespace systole::hlo
