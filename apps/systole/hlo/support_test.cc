#include "apps/systole/hlo/support.h"

#include <gtest/gtest.h>

#include "systole/base/error.h"
#include "systole/hlo/semantics/example_program.h"

namespace systole::app {
namespace {

using hlo::Opcode;

// The opcodes that are no ops of a text.
bool is_structure(Opcode opcode) {
  return opcode == Opcode::parameter || opcode == Opcode::return_ || opcode == Opcode::fusion;
}

TEST(Support, EveryOpcodeHasAProgram) {
  for (int i = 0; i < hlo::kNumOpcodes; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    EXPECT_EQ(hlo::example_program(opcode, DType::f32).empty(), is_structure(opcode))
        << to_string(opcode);
  }
}

// A program that no element type makes valid would leave its row empty.
TEST(Support, EveryProgramIsValidForSomeElements) {
  for (int i = 0; i < hlo::kNumOpcodes; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    if (is_structure(opcode)) continue;
    bool valid = false;
    for (const DType dtype : {DType::f32, DType::s32, DType::u32, DType::c64})
      valid = valid || find_support(opcode, dtype, "reference") != Support::invalid;
    EXPECT_TRUE(valid) << to_string(opcode);
  }
}

TEST(Support, TellsWhatComputes) {
  EXPECT_EQ(find_support(Opcode::add, DType::f32, "cpu"), Support::native);
  EXPECT_EQ(find_support(Opcode::tanh, DType::c64, "cpu"), Support::interpreted);
  EXPECT_EQ(find_support(Opcode::tanh, DType::s32, "cpu"), Support::invalid);
  EXPECT_EQ(find_support(Opcode::infeed, DType::f32, "cpu"), Support::none);
}

TEST(Support, TablesStandBetweenTheirMarks) {
  try {
    with_support_tables("# A page without them\n", "page.md");
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).substr(0, 44),
              "INVALID_ARGUMENT: page.md: marks of the tabl");
  }
}

}  // namespace
}  // namespace systole::app
