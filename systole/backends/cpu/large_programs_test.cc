// Programs of many steps, whose code is shared between steps that compute the same.
#include <gtest/gtest.h>

#include "systole/backends/cpu/testing/compare.h"
#include "systole/hlo/text.h"

namespace systole::cpu {
namespace {

// Some of it is the same in every layer, some takes turns, a constant and an array that is both
// operands among them.
std::string layers(int count, const std::string& first) {
  std::string text;
  std::string v = first;
  for (int i = 0; i < count; ++i) {
    const std::string other = i % 3 == 0 ? v : "%x";
    text += fmt::format(
        "  %d{0} = stablehlo.dot_general {1}, {2}, contracting_dims = [0] x [1] : "
        "(tensor<9x9xf32>, tensor<9x9xf32>) -> tensor<9x9xf32>\n"
        "  %t{0} = stablehlo.tanh %d{0} : tensor<9x9xf32>\n"
        "  %c{0} = stablehlo.constant dense<{3}> : tensor<9x9xf32>\n"
        "  %v{0} = stablehlo.multiply %t{0}, %c{0} : tensor<9x9xf32>\n",
        i, v, other, i % 5 == 0 ? "0.5" : "0.25");
    v = fmt::format("%v{}", i);
  }
  return text;
}

std::unique_ptr<hlo::Module> straight(int count) {
  return hlo::parse(
      fmt::format("func.func @main(%x: tensor<9x9xf32>) -> tensor<9x9xf32> {{\n"
                  "{}  return %v{} : tensor<9x9xf32>\n}}\n",
                  layers(count, "%x"), count - 1));
}

std::vector<Tensor> matrix() {
  RandomStream random(91);
  return {testing::random_tensor(random, {DType::f32, {9, 9}}, -1, 1)};
}

TEST(LargePrograms, AgreeWithTheReference) {
  EXPECT_EQ("", testing::check(*straight(150), matrix(), {.ulps = 64, .of_largest = 1e-5}));
}

TEST(LargePrograms, HaveTheCodeOfEachKindOfStepOnce) {
  const auto bytes = [](int count) {
    return testing::client().compile(*straight(count))->stats().code_bytes;
  };
  // What a layer adds are two calls.
  EXPECT_LT(bytes(600) - bytes(300), 300 * 400);
}

TEST(LargePrograms, AreBodiesOfLoopsWithSmallLoopsInThem) {
  const auto module = hlo::parse(fmt::format(
      R"(func.func @main(%x: tensor<9x9xf32>) -> (tensor<9x9xf32>, tensor<i32>) {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<9x9xf32>
    cond {{
      %more = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    }} do {{
{}
      %sorted = "stablehlo.sort"(%v149) ({{
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %less = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %less : tensor<i1>
      }}) {{dimension = 1 : i64}} : (tensor<9x9xf32>) -> tensor<9x9xf32>
      %s:2 = stablehlo.while(%j = %zero, %b = %sorted) : tensor<i32>, tensor<9x9xf32>
        cond {{
          %less = stablehlo.compare LE, %j, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %less : tensor<i1>
        }} do {{
          %sum = stablehlo.add %b, %x : tensor<9x9xf32>
          %j1 = stablehlo.add %j, %one : tensor<i32>
          stablehlo.return %j1, %sum : tensor<i32>, tensor<9x9xf32>
        }}
      %i1 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %i1, %s#1 : tensor<i32>, tensor<9x9xf32>
    }}
  return %r#1, %r#0 : tensor<9x9xf32>, tensor<i32>
}}
)",
      layers(150, "%a")));
  EXPECT_EQ("", testing::check(*module, matrix(), {.ulps = 64, .of_largest = 1e-5}));
}

// The steps of a profile are the program's, not the functions that they share.
TEST(LargePrograms, AreProfiledStepByStep) {
  const auto module = straight(150);
  const auto executable = testing::client().compile(*module, {.profile = true});
  const std::vector<Tensor> arguments = matrix();
  std::vector<runtime::StepProfile> steps;
  Tensor result;
  const std::vector<runtime::Argument> given = {{.host = arguments.data()}};
  const std::vector<runtime::Result> taken = {{.host = &result}};
  executable->execute(given, taken, {.profile = &steps});
  EXPECT_GE(steps.size(), 300U);
  for (const runtime::StepProfile& step : steps) EXPECT_EQ(step.runs, 1) << step.step;
}

}  // namespace
}  // namespace systole::cpu
