// The pretty form, character by character, as StableHLO's own tools print it.
#include <gtest/gtest.h>

#include "systole/stablehlo/text/text.h"

namespace systole::hlo {
namespace {

constexpr std::string_view kPretty = R"(module @pretty {
  func.func public @main(%arg0: tensor<2x4xf32>, %arg1: tensor<f32>, %arg2: tensor<i32>, %arg3: tensor<4x3xf32>) -> (tensor<2xf32>, tensor<i32>) {
    %0 = stablehlo.constant dense<[1.5, -0.0]> : tensor<2xf32>
    %1 = stablehlo.iota dim = 1 : tensor<2x4xi32>
    %2 = stablehlo.convert %1 : (tensor<2x4xi32>) -> tensor<2x4xf32>
    %3 = stablehlo.compare LT, %arg0, %2, TOTALORDER : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xi1>
    %4 = stablehlo.select %3, %arg0, %2 : tensor<2x4xi1>, tensor<2x4xf32>
    %5 = stablehlo.tanh %4 : tensor<2x4xf32>
    %6 = stablehlo.slice %5 [0:1, 0:4:2] : (tensor<2x4xf32>) -> tensor<1x2xf32>
    %7 = stablehlo.pad %6, %arg1, low = [0, -1], high = [1, 0], interior = [0, 2] : (tensor<1x2xf32>, tensor<f32>) -> tensor<2x3xf32>
    %8 = stablehlo.dynamic_slice %7, %arg2, %arg2, sizes = [1, 2] : (tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
    %9 = stablehlo.dot_general %arg0, %arg3, contracting_dims = [1] x [0], precision = [HIGH, DEFAULT] : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    %10 = stablehlo.reduce(%9 init: %arg1) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    %11:2 = stablehlo.reduce(%10 init: %arg1), (%0 init: %arg1) across dimensions = [0] : (tensor<2xf32>, tensor<2xf32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
     reducer(%arg4: tensor<f32>, %arg6: tensor<f32>) (%arg5: tensor<f32>, %arg7: tensor<f32>) {
      %12 = stablehlo.multiply %arg4, %arg7 : tensor<f32>
      stablehlo.return %12, %arg5 : tensor<f32>, tensor<f32>
    }
    %13:2 = stablehlo.while(%arg8 = %arg2, %arg9 = %10) : tensor<i32>, tensor<2xf32>
     cond {
      %14 = stablehlo.compare NE, %arg8, %arg2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %14 : tensor<i1>
    } do {
      stablehlo.return %arg8, %arg9 : tensor<i32>, tensor<2xf32>
    }
    %15 = "stablehlo.sort"(%13#1) ({
    ^bb0(%arg10: tensor<f32>, %arg11: tensor<f32>):
      %16 = stablehlo.compare GT, %arg10, %arg11 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %16 : tensor<i1>
    }) {dimension = 0 : i64} : (tensor<2xf32>) -> tensor<2xf32>
    stablehlo.custom_call @f(%15) {has_side_effect = true} : (tensor<2xf32>) -> ()
    %17 = call @g(%arg2) : (tensor<i32>) -> tensor<i32>
    return %15, %17 : tensor<2xf32>, tensor<i32>
  }
  func.func private @g(%arg0: tensor<i32>) -> tensor<i32> {
    return %arg0 : tensor<i32>
  }
}
)";

TEST(TextPrinter, PrettyForm) { EXPECT_EQ(print(*parse(kPretty), {.pretty = true}), kPretty); }

// What `applies` says stands on no line of its own.
TEST(TextPrinter, HiddenOpsTakeNoNames) {
  const std::string text = print(*parse(kPretty), {.pretty = true});
  EXPECT_EQ(text.find("%18"), std::string::npos);
  EXPECT_NE(print(*parse(kPretty)).find("%18"), std::string::npos);
}

TEST(TextPrinter, LocationsStandBehindRegions) {
  const auto module = parse(kPretty);
  const Value sorted = module->entry().results()[0];
  sorted.def->operand(0).def->set_metadata({.name = "loop", .where = {}});
  const std::string text = print(*module, {.locations = true, .pretty = true});
  EXPECT_NE(text.find("tensor<2xf32>\n    } loc(\"loop\")\n    %15 = "), std::string::npos) << text;
  EXPECT_EQ(print(*parse(text), {.locations = true, .pretty = true}), text);
}

}  // namespace
}  // namespace systole::hlo
