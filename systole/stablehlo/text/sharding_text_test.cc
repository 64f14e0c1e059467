// Programs for several devices: Shardy's ops and attributes, and groups along the axes of a mesh.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/hlo/semantics/verifier.h"
#include "systole/stablehlo/text/import.h"
#include "systole/stablehlo/text/text.h"

namespace systole::hlo {
namespace {

std::string refusal_of(const std::string& text) {
  try {
    parse(text, "f");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(TextSharding, Shardy) {
  const std::string text = R"(module @m {
  sdy.mesh @mesh = <["x"=2, "y"=1]>
  "sdy.mesh"() <{mesh = #sdy.mesh<[], device_ids=[0]>, sym_name = "one"}> : () -> ()
  func.func public @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<2xf32> {
    %0 = sdy.sharding_constraint %a <@mesh, [{"x", ?}p0]> : tensor<4xf32>
    sdy.sharding_group %0 group_id=3 : tensor<4xf32>
    %1 = "sdy.reshard"(%0) <{sharding = #sdy.sharding<@mesh, [{}]>}> : (tensor<4xf32>) -> tensor<4xf32>
    %2 = sdy.manual_computation(%1, %a) in_shardings=[<@mesh, [{"x"}]>, <@mesh, [{}]>] out_shardings=[<@mesh, [{}]>] manual_axes={"x", "y"} (%b: tensor<2xf32>, %c: tensor<4xf32>) {
      %0 = stablehlo.slice %c [0:2] : (tensor<4xf32>) -> tensor<2xf32>
      %3 = stablehlo.add %b, %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}]>]>} : tensor<2xf32>
      sdy.return %3 : tensor<2xf32>
    } : (tensor<4xf32>, tensor<4xf32>) -> tensor<2xf32>
    %4 = "sdy.manual_computation"(%2) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{}]>]>, manual_axes = #sdy<manual_axes{"y"}>, out_shardings = #sdy.sharding_per_value<[<@mesh, [{}], replicated={"x"}>]>}> ({
    ^bb0(%d: tensor<2xf32>):
      sdy.return %d : tensor<2xf32>
    }) : (tensor<2xf32>) -> tensor<2xf32>
    %5 = sdy.propagation_barrier %4 allowed_direction=NONE : tensor<2xf32>
    return %5 : tensor<2xf32>
  }
}
)";
  const std::string pretty = R"(module @m {
  sdy.mesh @mesh = <["x"=2, "y"=1]>
  sdy.mesh @one = <[], device_ids=[0]>
  func.func public @main(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<2xf32> {
    %0 = stablehlo.custom_call @Sharding(%arg0) {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}p0]>} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = stablehlo.custom_call @Sharding(%0) {sdy.sharding_group = 3 : i64} : (tensor<4xf32>) -> tensor<4xf32>
    %2 = stablehlo.custom_call @Sharding(%0) {sdy.sharding = #sdy.sharding<@mesh, [{}]>} : (tensor<4xf32>) -> tensor<4xf32>
    %3:2 = stablehlo.custom_call @xla.sdy.GlobalToLocalShape(%2, %arg0) {sdy.in_shardings = #sdy.sharding_per_value<[<@mesh, [{"x"}]>, <@mesh, [{}]>]>, sdy.manual_axes = #sdy<manual_axes{"x", "y"}>} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<2xf32>, tensor<4xf32>)
    %4 = call @xla.sdy.manual_computation_body(%3#0, %3#1) : (tensor<2xf32>, tensor<4xf32>) -> tensor<2xf32>
    %5 = stablehlo.custom_call @xla.sdy.LocalToGlobalShape(%4) {sdy.manual_axes = #sdy<manual_axes{"x", "y"}>, sdy.out_shardings = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<2xf32>) -> tensor<2xf32>
    %6 = stablehlo.custom_call @xla.sdy.GlobalToLocalShape(%5) {sdy.in_shardings = #sdy.sharding_per_value<[<@mesh, [{}]>]>, sdy.manual_axes = #sdy<manual_axes{"y"}>} : (tensor<2xf32>) -> tensor<2xf32>
    %7 = call @xla.sdy.manual_computation_body_1(%6) : (tensor<2xf32>) -> tensor<2xf32>
    %8 = stablehlo.custom_call @xla.sdy.LocalToGlobalShape(%7) {sdy.manual_axes = #sdy<manual_axes{"y"}>, sdy.out_shardings = #sdy.sharding_per_value<[<@mesh, [{}], replicated={"x"}>]>} : (tensor<2xf32>) -> tensor<2xf32>
    return %8 : tensor<2xf32>
  }
  func.func private @xla.sdy.manual_computation_body(%arg0: tensor<2xf32>, %arg1: tensor<4xf32>) -> tensor<2xf32> attributes {sdy.manual_axes = #sdy<manual_axes{"x", "y"}>} {
    %0 = stablehlo.slice %arg1 [0:2] : (tensor<4xf32>) -> tensor<2xf32>
    %1 = stablehlo.add %arg0, %0 : tensor<2xf32>
    %2 = stablehlo.custom_call @Sharding(%1) {sdy.sharding = #sdy.sharding<@mesh, [{?}]>} : (tensor<2xf32>) -> tensor<2xf32>
    return %2 : tensor<2xf32>
  }
  func.func private @xla.sdy.manual_computation_body_1(%arg0: tensor<2xf32>) -> tensor<2xf32> attributes {sdy.manual_axes = #sdy<manual_axes{"y"}>} {
    return %arg0 : tensor<2xf32>
  }
}
)";
  const auto module = parse(text);
  verify(*module);
  EXPECT_EQ(print(*module, {.pretty = true}), pretty);
  EXPECT_EQ(print(*parse(print(*module)), {.pretty = true}), pretty);
}

// The region of a manual computation sees nothing of what is around it.
TEST(TextSharding, ManualComputationsAreIsolated) {
  const auto body = [](const std::string& attributes, const std::string& op) {
    return "func.func @main(%a: tensor<4xf32>) {\n%0 = sdy.manual_computation(%a) " + attributes +
           " manual_axes={\"x\"} (%b: tensor<2xf32>) {\n" + op +
           "\nsdy.return %b : tensor<2xf32>\n} : (tensor<4xf32>) -> tensor<4xf32>\nreturn }";
  };
  const std::string shardings = "in_shardings=[<@m, [{\"x\"}]>] out_shardings=[<@m, [{\"x\"}]>]";
  EXPECT_EQ(refusal_of(body(shardings, "%c = stablehlo.add %a, %a : tensor<4xf32>")),
            "INVALID_ARGUMENT: f:3:20: operand, got %a, expected a name that is defined before");
  EXPECT_EQ(refusal_of(body("in_shardings=[<@m, [{\"x\"}]>]", "")),
            "INVALID_ARGUMENT: f:2:6: sdy.manual_computation: attributes, got no 'out_shardings', "
            "expected one");
}

TEST(TextSharding, ShardedRegionsEndInTheirOwnReturn) {
  EXPECT_EQ(
      refusal_of("func.func @main(%a: tensor<4xf32>) {\n"
                 "%0 = sdy.named_computation<\"n\">(%a) in_shardings=[<@m, [{}]>] (%b: "
                 "tensor<4xf32>) {\nreturn %b : tensor<4xf32>\n} : (tensor<4xf32>) -> "
                 "tensor<4xf32>\nreturn }"),
      "INVALID_ARGUMENT: f:3:1: sdy.named_computation, got func.return, expected sdy.return at "
      "its end");
}

// What StableHLO grew out of, and what compilers write for readers without CHLO.
}  // namespace
}  // namespace systole::hlo
