#include "apps/systole/hlo/checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "apps/systole/hlo/programs.h"
#include "systole/base/error.h"
#include "systole/stablehlo/text/text.h"

namespace systole::app {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// How JAX exports a test: inputs and expectations are what functions return.
constexpr std::string_view kExported = R"(
module @jit_main {
  func.func public @main() -> tensor<2xf32> {
    %0 = call @inputs() : () -> tensor<2xf32>
    %1 = call @expected() : () -> tensor<2xf32>
    %2 = stablehlo.add %0, %0 : tensor<2xf32>
    stablehlo.custom_call @check.expect_close(%2, %1) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
    return %2 : tensor<2xf32>
  }
  func.func private @inputs() -> tensor<2xf32> {
    %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
  func.func private @expected() -> tensor<2xf32> {
    %0 = stablehlo.constant dense<[2.0, 4.0]> : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
)";

// How a test is written by hand.
std::string hand_written(const std::string& check) {
  return "func.func @test() {\n"
         "  %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>\n"
         "  %1 = stablehlo.add %0, %0 : tensor<2xf32>\n  " +
         check + "\n  return\n}\n";
}

std::string outcome(std::string_view text, const std::string& name = "reference") {
  try {
    return run_checks(extract_checks(*hlo::parse(text), backend(name), {}), backend(name), {});
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(Checks, AreTakenOutOfTheProgram) {
  const CheckedProgram program = extract_checks(*hlo::parse(kExported), backend("reference"), {});
  ASSERT_EQ(program.checks.size(), 1);
  EXPECT_EQ(program.checks[0].name, "check.expect_close");
  EXPECT_EQ(program.checks[0].rule.max_ulps, 3);
  EXPECT_FALSE(has_checks(*program.module));
  EXPECT_EQ(program.module->entry().results().size(), 2);
}

TEST(Checks, InputsAreArgumentsThatNoCompilerKnows) {
  const CheckedProgram exported = extract_checks(*hlo::parse(kExported), backend("reference"), {});
  ASSERT_EQ(exported.arguments.size(), 2);
  EXPECT_TRUE(exported.arguments[0].identical(Tensor::of<float>({2}, {1, 2})));
  const CheckedProgram written = extract_checks(
      *hlo::parse(hand_written("check.expect_eq_const %1, dense<[2.0, 4.0]> : tensor<2xf32>")),
      backend("reference"), {});
  EXPECT_EQ(written.arguments.size(), 2);
}

TEST(Checks, HoldOnEveryBackend) {
  for (const std::string name : {"cpu", "reference"}) {
    EXPECT_EQ(outcome(kExported, name), "");
    EXPECT_EQ(outcome(hand_written("check.expect_eq %1, %1 : tensor<2xf32>"), name), "");
    EXPECT_EQ(
        outcome(hand_written("check.expect_eq_const %1, dense<[2.0, 4.0]> : tensor<2xf32>"), name),
        "");
  }
}

TEST(Checks, SayWhatDiffers) {
  EXPECT_EQ(
      outcome(hand_written("check.expect_eq_const %1, dense<[2.0, 5.0]> : tensor<2xf32>"), "cpu"),
      "check.expect_eq_const (number 1 of 1): f32[2], index [1], got 4, expected 5, "
      "2097152 ULP apart; 1 of 2 elements");
}

TEST(Checks, TakeTheirBoundsFromTheText) {
  const std::string almost = "check.expect_almost_eq_const %1, dense<[2.05, 4.0]> : tensor<2xf32>";
  EXPECT_THAT(outcome(hand_written(almost)), HasSubstr("expected within 0.0001"));
  EXPECT_EQ(outcome(hand_written("check.expect_almost_eq %1, %1, tolerance = 0.1 : tensor<2xf32>")),
            "");
  EXPECT_THAT(outcome(hand_written("check.expect_close %1, %0, max_ulp_difference = 7 : "
                                   "tensor<2xf32>, tensor<2xf32>")),
              HasSubstr("8388608 ULP apart, expected at most 7; 2 of 2"));
}

TEST(Checks, WhatCannotBeCheckedIsSaid) {
  EXPECT_THAT(outcome("func.func @main(%a: tensor<f32>) { check.expect_eq %a, %a : tensor<f32>\n"
                      "return }"),
              StartsWith("UNIMPLEMENTED: "));
  EXPECT_THAT(outcome(hand_written("stablehlo.custom_call @check.expect_green(%1, %1) : "
                                   "(tensor<2xf32>, tensor<2xf32>) -> ()")),
              HasSubstr("check.expect_green: no such check"));
}

// @f for each of two replicas.
std::string in_parallel(const std::string& operands, const std::string& types) {
  return "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
         "  %0 = stablehlo.add %x, %x : tensor<2xf32>\n  return %0 : tensor<2xf32>\n}\n"
         "func.func @main() {\n"
         "  %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>\n"
         "  %1 = stablehlo.constant dense<[2.0, 4.0]> : tensor<2xf32>\n"
         "  %2:2 = \"interpreter.run_parallel\"(" +
         operands + ") {programs = [[@f], [@f]]} : " + types +
         "\n  check.expect_eq %2#0, %1 : tensor<2xf32>\n  return\n}\n";
}

TEST(Checks, ReplicasRunInParallelOnEveryBackend) {
  const std::string text =
      in_parallel("%0, %1", "(tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)");
  for (const char* name : {"cpu", "reference"}) EXPECT_EQ(outcome(text, name), "");
}

TEST(Checks, WhatRunsInParallelFitsItsFunction) {
  const std::array<std::string, 3> rows[] = {
      {"%0, %0", "(tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)",
       "result types, got (f32[2], f32[2], f32[2]), expected (f32[2], f32[2])"},
      {"%0, %0", "(tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<3xf32>)",
       "result types, got (f32[2], f32[3]), expected (f32[2], f32[2])"},
      {"%0, %0, %0",
       "(tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)",
       "operand types, got (f32[2], f32[2], f32[2]), expected (f32[2], f32[2])"},
      {"%0", "(tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)",
       "operand types, got (f32[2]), expected (f32[2], f32[2])"},
  };
  for (const auto& [operands, types, error] : rows) {
    std::string text = in_parallel(operands, types);
    if (types.ends_with("tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)"))
      text.replace(text.find("%2:2"), 4, "%2:3");
    for (const char* name : {"cpu", "reference"}) {
      EXPECT_EQ(outcome(text, name), "INVALID_ARGUMENT: interpreter.run_parallel: " + error);
    }
  }
}

// Tebibytes.
TEST(Checks, InputsThatCannotBeHeldAreRefusedBeforeTheyAreMade) {
  EXPECT_THAT(outcome("func.func @main() {\n"
                      "  %0 = call @inputs() : () -> tensor<17592186044416xf32>\n"
                      "  check.expect_eq %0, %0 : tensor<17592186044416xf32>\n  return\n}\n"
                      "func.func private @inputs() -> tensor<17592186044416xf32> {\n"
                      "  %0 = stablehlo.iota dim = 0 : tensor<17592186044416xf32>\n"
                      "  return %0 : tensor<17592186044416xf32>\n}\n"),
              StartsWith("RESOURCE_EXHAUSTED: host: memory of "));
}

TEST(Checks, AFunctionMustBeMainOrAlone) {
  EXPECT_THAT(outcome("func.func @f(%x: tensor<f32>) { return }\nfunc.func @g() { return }"),
              HasSubstr("functions, got 2 (@f, @g) and none of them 'main'"));
}

TEST(Checks, FunctionsWithoutParametersRunAllWhereNoneIsMain) {
  const std::string two = hand_written("check.expect_eq %0, %0 : tensor<2xf32>") +
                          "func.func @other() {\n"
                          "  %0 = stablehlo.constant dense<1> : tensor<i32>\n"
                          "  check.expect_eq_const %0, dense<2> : tensor<i32>\n  return\n}\n";
  EXPECT_THAT(outcome(two), StartsWith("check.expect_eq_const (number 2 of 2)"));
}

}  // namespace
}  // namespace systole::app
