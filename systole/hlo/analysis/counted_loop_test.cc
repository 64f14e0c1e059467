#include "systole/hlo/analysis/counted_loop.h"

#include <gtest/gtest.h>

#include "systole/hlo/testing/loop_programs.h"
#include "systole/stablehlo/text/text.h"

namespace systole::hlo {
namespace {

// A loop that writes a row of y to %acc in each iteration, at `index`.
std::string writing_rows(const std::string& type, const std::string& index) {
  return testing::loop_over_rows(
      type, R"(
      %next = stablehlo.dynamic_update_slice %acc, %ys, )" +
                index + R"(, %zero, %zero : ()" + type +
                R"(, tensor<1x3x5xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> )" + type);
}

bool overwrites(const std::string& text) {
  const auto module = parse(text);
  for (const Instruction* x : module->entry().instructions()) {
    if (!x->is(Opcode::while_)) continue;
    for (int i = 0; i < x->num_operands(); ++i) {
      if (x->operand(i).shape().rank() == 3) return overwrites_carried(*x, i, LoopCounters(*x));
    }
  }
  ADD_FAILURE() << "no loop in " << text;
  return false;
}

TEST(CountedLoopTest, OverwritesAnArrayWholly) {
  EXPECT_TRUE(overwrites(writing_rows("tensor<4x3x5xi32>", "%i")));
  EXPECT_FALSE(overwrites(writing_rows("tensor<4x3x5xi32>", "%one"))) << "one row";
  EXPECT_FALSE(overwrites(writing_rows("tensor<6x3x5xi32>", "%i"))) << "not the last rows";
}

}  // namespace
}  // namespace systole::hlo
