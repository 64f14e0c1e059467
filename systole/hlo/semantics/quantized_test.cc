// Quantized types: text, verification, values by hand, and expansion into other ops.
#include "systole/hlo/semantics/quantized.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <utility>

#include "systole/base/error.h"
#include "systole/base/testing/error_of.h"
#include "systole/hlo/passes/expand_quantized.h"
#include "systole/hlo/semantics/evaluator.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/hlo/testing/quantized_programs.h"
#include "systole/stablehlo/text/text.h"

namespace systole::hlo {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Module> module_of(const std::string& text) {
  auto module = parse(text, "f");
  verify(*module);
  return module;
}

std::string function(const std::string& parameters, const std::string& results,
                     const std::string& body) {
  return "func.func @main(" + parameters + ") -> " + results + " {\n" + body + "\n}\n";
}

// Runs a program directly and expanded; both must agree.
std::vector<Tensor> run(const Module& module, const std::vector<Tensor>& arguments) {
  std::vector<Tensor> values = Evaluator().run(module.entry(), arguments);
  const auto expanded = expand_quantized(module);
  verify(*expanded);
  EXPECT_FALSE(has_quantized_types(*expanded));
  const std::vector<Tensor> others = Evaluator().run(expanded->entry(), arguments);
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_TRUE(values[i].identical(others[i]))
        << print(module) << values[i].to_string() << "\nexpanded\n"
        << others[i].to_string();
  }
  return values;
}

std::vector<int64_t> integers(const Tensor& x) {
  const Tensor wide = x.cast(DType::s64);
  return {wide.data<int64_t>().begin(), wide.data<int64_t>().end()};
}

struct ValueCase {
  std::string name;
  std::string text;
  std::vector<Tensor> arguments;
  std::vector<int64_t> expected;
};

TEST(QuantizedTest, HasTheValuesOfTheSpecification) {
  const std::string two = "tensor<2x!quant.uniform<i8:f32:0, {0.1:-30,0.5:-20}>>";
  const std::string other = "tensor<2x!quant.uniform<i8:f32:0, {0.1:-20,0.2:-30}>>";
  const std::string a = "tensor<2x!quant.uniform<i8:f32, 0.1:-30>>";
  const std::string b = "tensor<2x!quant.uniform<i8:f32, 0.5:-20>>";
  const std::vector<ValueCase> cases = {
      {"quantize",
       function("%x: tensor<2xf32>", two,
                "%r = stablehlo.uniform_quantize %x : (tensor<2xf32>) -> " + two +
                    "\nreturn %r : " + two),
       {Tensor({2}, {4.0F, 15.0F})},
       {10, 10}},
      {"requantize",
       function("%x: " + two, other,
                "%r = stablehlo.uniform_quantize %x : (" + two + ") -> " + other +
                    "\nreturn %r : " + other),
       {Tensor::of<int8_t>({2}, {10, 10})},
       {20, 45}},
      {"dequantize",
       function("%x: " + two, "tensor<2xf32>",
                "%r = stablehlo.uniform_dequantize %x : (" + two +
                    ") -> tensor<2xf32>\nreturn %r : tensor<2xf32>"),
       {Tensor::of<int8_t>({2}, {10, 10})},
       {4, 15}},
      {"add",
       function(
           "%x: " + a + ", %y: " + b, b,
           "%r = stablehlo.add %x, %y : (" + a + ", " + b + ") -> " + b + "\nreturn %r : " + b),
       {Tensor::of<int8_t>({2}, {-20, -10}), Tensor::of<int8_t>({2}, {-14, -12})},
       {-12, -8}},
      {"ties to even, bounds, NaN",
       function("%x: tensor<6xf32>", "tensor<6x!quant.uniform<i8<-4:4>:f32, 1.0>>",
                "%r = stablehlo.uniform_quantize %x : (tensor<6xf32>) -> "
                "tensor<6x!quant.uniform<i8<-4:4>:f32, 1.0>>\nreturn %r : "
                "tensor<6x!quant.uniform<i8<-4:4>:f32, 1.0>>"),
       {Tensor({6}, {0.5F, 1.5F, 2.5F, 1e9F, -INFINITY, NAN})},
       {0, 2, 2, 4, -4, 0}}};
  for (const ValueCase& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(integers(run(*module_of(c.text), c.arguments)[0]), c.expected);
  }
}

// lhs has the zero point 3; the scales of the columns are 0.5 and 0.25.
std::string product(const std::string& rounding) {
  return "!lhs = !quant.uniform<i8:f32, 0.5:3>\nmodule @m" +
         (rounding.empty() ? "" : " attributes {systole.rounding = \"" + rounding + "\"}") + R"( {
func.func @main(%x: tensor<2x2x!lhs>, %w: tensor<2x2x!quant.uniform<i8<-127:127>:f32:1, {0.5,0.25}>>) -> (tensor<2x2x!quant.uniform<i32:f32:1, {0.25,0.125}>>, tensor<2x2x!quant.uniform<i8:f32, 0.5:-1>>) {
  %s = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x2x!lhs>, tensor<2x2x!quant.uniform<i8<-127:127>:f32:1, {0.5,0.25}>>) -> tensor<2x2x!quant.uniform<i32:f32:1, {0.25,0.125}>>
  %b = "stablehlo.constant"() {value = dense<[[1, 2], [1, 2]]> : tensor<2x2xi32>} : () -> tensor<2x2x!quant.uniform<i32:f32:1, {0.25,0.125}>>
  %t = stablehlo.add %s, %b : tensor<2x2x!quant.uniform<i32:f32:1, {0.25,0.125}>>
  %r = stablehlo.uniform_quantize %t : (tensor<2x2x!quant.uniform<i32:f32:1, {0.25,0.125}>>) -> tensor<2x2x!quant.uniform<i8:f32, 0.5:-1>>
  return %s, %r : tensor<2x2x!quant.uniform<i32:f32:1, {0.25,0.125}>>, tensor<2x2x!quant.uniform<i8:f32, 0.5:-1>>
}
})";
}

TEST(QuantizedTest, MultipliesAndRequantizes) {
  const std::vector<Tensor> arguments{Tensor::of<int8_t>({2, 2}, {4, 2, 3, -128}),
                                      Tensor::of<int8_t>({2, 2}, {1, -127, 2, 9})};
  // Sums: [1 -1; 0 -131] [1 -127; 2 9]. With the bias: [0 -134; -261 -1177], times 1/2 and 1/4.
  const std::vector<int64_t> sums{-1, -136, -262, -1179};
  const auto values = [&](const std::string& rounding) {
    const auto results = run(*module_of(product(rounding)), arguments);
    EXPECT_EQ(integers(results[0]), sums);
    return integers(results[1]);
  };
  // 0, -33.5 and less than -128, less 1. Ties: to even, away from zero, up.
  EXPECT_EQ(values(""), (std::vector<int64_t>{-1, -34, -128, -128}));
  EXPECT_EQ(values("tflite"), (std::vector<int64_t>{-1, -35, -128, -128}));
  EXPECT_EQ(values("single"), (std::vector<int64_t>{-1, -34, -128, -128}));
}

TEST(QuantizedTest, TextsRoundTrip) {
  const std::string types[] = {"!quant.uniform<i8:f32, 0.5>", "!quant.uniform<u8:f32, 1.0e-05:128>",
                               "!quant.uniform<i8<-127:127>:f32:1, {0.1,0.2:-3,0.3}>",
                               "!quant.uniform<i4:f32, 1.0>",
                               "!quant.uniform<i32:f32, 1.5350925350904778e-05>"};
  for (const std::string& type : types) {
    const std::string tensor = "tensor<2x3x" + type + ">";
    const auto module = module_of(function("%x: " + tensor, tensor, "return %x : " + tensor));
    EXPECT_THAT(print(*module), HasSubstr(tensor));
    EXPECT_EQ(print(*module_of(print(*module))), print(*module));
  }
}

TEST(QuantizedTest, KeepsQuantizedConstants) {
  const std::string type = "tensor<2x!quant.uniform<i8:f32, 0.5>>";
  for (const std::string value : {"dense<[1, 2]>", "dense<7>"}) {
    const auto module = module_of(function(
        "", type,
        fmt::format("%0 = stablehlo.constant() {{value = {0} : tensor<2xi8>}} : () -> {1}\n"
                    "return %0 : {1}",
                    value, type)));
    EXPECT_TRUE(module->entry().results()[0].type().is_quantized());
    EXPECT_EQ(print(*module_of(print(*module))), print(*module));
  }
}

class QuantizedErrorsTest : public ::testing::Test {
 protected:
  // Each body of a function, with a part of its error.
  void expect_refused(std::span<const std::pair<std::string, std::string>> cases) const {
    for (const auto& [body, expected] : cases) {
      EXPECT_THAT(systole::testing::error_of([&, &body = body] {
                    module_of(function("%x: " + q_ + ", %c: " + channels_ + ", %f: tensor<2xf32>",
                                       "()", body + "\nreturn"));
                  }),
                  HasSubstr(expected))
          << body;
    }
  }

  const std::string q_ = "tensor<2x!quant.uniform<i8:f32, 0.5>>";
  const std::string channels_ = "tensor<2x!quant.uniform<i8:f32:0, {0.5,0.25}>>";
};

TEST_F(QuantizedErrorsTest, NamesWrongTypes) {
  const std::pair<std::string, std::string> cases[] = {
      {"%0 = stablehlo.abs %x : tensor<2x!quant.uniform<i8:f32, 0.0>>",
       "scale 0, got 0, expected a positive finite f32"},
      {"%0 = stablehlo.abs %x : tensor<2x!quant.uniform<i8:f32, 0.5:128>>",
       "zero point 0, got 128, expected in [-128, 127]"},
      {"%0 = stablehlo.abs %x : tensor<2x!quant.uniform<i8<0:128>:f32, 0.5>>",
       "storage bounds, got [0, 128]"},
      {"%0 = stablehlo.abs %x : tensor<2x!quant.uniform<i8:f32:0, {0.5}>>",
       "number of scales, got 1, expected 2, the size of axis 0"},
      {"%0 = stablehlo.abs %x : tensor<2x!quant.uniform<i8:f32:1, {0.5}>>",
       "quantization dimension, got 1, expected below the rank 1"},
      {"%0 = stablehlo.abs %x : tensor<2x!quant.uniform<i8:bf16, 0.5>>",
       "expressed type, got bf16, expected f32"},
      {"%0 = stablehlo.abs %x : tensor<2x!quant.uniform<i8:f32, 1>>",
       "got '1', expected a scale such as 0.5"},
  };
  expect_refused(cases);
}

TEST_F(QuantizedErrorsTest, NamesWrongOperandsAndResults) {
  const std::string scalar = "tensor<!quant.uniform<i8:f32, 0.5>>";
  const std::pair<std::string, std::string> cases[] = {
      {"%0 = stablehlo.uniform_dequantize %f : (tensor<2xf32>) -> tensor<2xf32>",
       "uniform_dequantize: operand, got f32[2], expected a quantized type"},
      {"%0 = stablehlo.uniform_quantize %f : (tensor<2xf32>) -> tensor<2xi8>",
       "uniform_quantize: result, got s8[2], expected a quantized type"},
      {"%0 = stablehlo.add %x, %f : (" + q_ + ", tensor<2xf32>) -> " + q_,
       "add: operand 1, got f32[2], expected a quantized type"},
      {"%0 = stablehlo.abs %x : (" + q_ + ") -> tensor<2xf32>",
       "abs: result 0, got f32[2], expected a declared quantized type"},
      {"%0 = stablehlo.add %x, %x : (" + q_ + ", " + q_ +
           ") -> tensor<2x!quant.uniform<i4:f32, 0.5>>",
       "add: storage type of result, got s4, expected s8 of operand 0"},
      {"%0 = stablehlo.add %x, %x : (" + q_ + ", " + q_ +
           ") -> tensor<2x!quant.uniform<u8:f32, 0.5>>",
       "add: storage type of result, got u8, expected s8 of operand 0"},
      {"%0 = stablehlo.compare EQ, %c, %c : (" + channels_ + ", " + channels_ + ") -> tensor<2xi1>",
       "compare: operand 0, got !quant.uniform<i8:f32:0, {0.5,0.25}>[2], expected one scale"},
      {"%0 = stablehlo.is_finite %c : (" + channels_ + ") -> tensor<2xi1>",
       "is_finite: operand 0, got !quant.uniform<i8:f32:0, {0.5,0.25}>[2], expected one scale"},
      {"%0 = stablehlo.optimization_barrier %c : " + channels_,
       "optimization_barrier: operand 0, got !quant.uniform<i8:f32:0, {0.5,0.25}>[2], expected one "
       "scale"},
      {"%0 = stablehlo.abs %x : (" + q_ + ") -> " + channels_,
       "abs: result 0, got !quant.uniform<i8:f32:0, {0.5,0.25}>[2], expected one scale"},
      {"%0 = stablehlo.reverse %x, dims = [0] : (" + q_ +
           ") -> tensor<2x!quant.uniform<i8:f32, 0.25>>",
       "expected"},
      {"%0 = \"stablehlo.all_reduce\"(%x) ({\n^bb0(%l: " + scalar + ", %r: " + scalar +
           "):\nstablehlo.return %l : " + scalar +
           "\n}) {replica_groups = dense<0> : tensor<1x1xi64>} : (" + q_ + ") -> " + q_,
       "UNIMPLEMENTED: f:2:6: all_reduce: operands, got !quant.uniform<i8:f32, 0.5>[2], expected "
       "none"},
      {"%0 = \"stablehlo.replica_id\"() : () -> " + scalar,
       "UNIMPLEMENTED: f:2:6: replica_id: operands"},
      {"%0 = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0] : (" + q_ + ", " + q_ +
           ") -> tensor<f32>",
       "dot_general: types"}};
  expect_refused(cases);
}

TEST(QuantizedTest, TakesNoZeroPointsFromTheArgument) {
  const std::string type = "tensor<2x!quant.uniform<i32:f32, 0.5:3>>";
  const auto module = module_of(function("%x: " + type, "tensor<2xf32>",
                                         "%0 = stablehlo.uniform_dequantize %x : (" + type +
                                             ") -> tensor<2xf32>\nreturn %0 : tensor<2xf32>"));
  const std::vector<Tensor> arguments = {Tensor::of<int32_t>({2}, {5, 3})};
  for (int i = 0; i < 2; ++i) {
    const Tensor result = Evaluator().run(module->entry(), arguments)[0];
    EXPECT_EQ(result.data<float>()[0], 1);
    EXPECT_EQ(result.data<float>()[1], 0);
  }
}

TEST(QuantizedTest, ExpandsRandomPrograms) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const testing::QuantizedProgram program = testing::random_quantized_program(seed);
    run(*module_of(program.text), program.arguments);
  }
}

}  // namespace
}  // namespace systole::hlo
