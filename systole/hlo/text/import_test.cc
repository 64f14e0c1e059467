// Ops that no module keeps are read as what stands for them; what nothing stands for is refused.
#include "systole/hlo/text/import.h"

#include <gtest/gtest.h>

#include "systole/hlo/evaluator.h"
#include "systole/hlo/text.h"
#include "systole/hlo/verifier.h"

namespace systole::hlo {
namespace {

// The ops of @main with those parameters, generic, one a line.
std::string ops_of(const std::string& parameters, const std::string& text) {
  const auto module = parse("func.func @main(" + parameters + ") {\n" + text + "\nreturn\n}\n");
  verify(*module);
  std::string ops;
  for (const Instruction* instruction : module->entry().instructions()) {
    const bool plain = !instruction->is(Opcode::parameter) && !instruction->is(Opcode::return_);
    if (plain) ops += print(*instruction) + "\n";
  }
  return ops;
}

std::string error_of(const std::string& text) {
  try {
    parse(text, "f");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(TextImport, Dot) {
  EXPECT_EQ(ops_of("%a: tensor<2x3xi8>, %b: tensor<3xi8>",
                   "%0 = stablehlo.dot %a, %b, precision = [HIGH, DEFAULT] : (tensor<2x3xi8>, "
                   "tensor<3xi8>) -> tensor<2xi32>"),
            "%0 = \"stablehlo.dot_general\"(%arg0, %arg1) {dot_dimension_numbers = "
            "#stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, "
            "precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>]} : "
            "(tensor<2x3xi8>, tensor<3xi8>) -> tensor<2xi32>\n");
}

TEST(TextImport, Broadcast) {
  EXPECT_EQ(ops_of("%a: tensor<3xf32>",
                   "%0 = stablehlo.broadcast %a, sizes = [1, 2] : (tensor<3xf32>) -> "
                   "tensor<1x2x3xf32>"),
            "%0 = \"stablehlo.broadcast_in_dim\"(%arg0) {broadcast_dimensions = array<i64: 2>} : "
            "(tensor<3xf32>) -> tensor<1x2x3xf32>\n");
}

// Sums over b: the letters of the result are in another order than dot_general's.
TEST(TextImport, Einsum) {
  EXPECT_EQ(ops_of("%a: tensor<5x2x3xf32>, %b: tensor<3x5x4xf32>",
                   "%0 = stablehlo.einsum %a, %b, config = \"sab,bsc->cas\" : (tensor<5x2x3xf32>, "
                   "tensor<3x5x4xf32>) -> tensor<4x2x5xf32>"),
            "%0 = \"stablehlo.dot_general\"(%arg0, %arg1) {dot_dimension_numbers = "
            "#stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], "
            "lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>} : "
            "(tensor<5x2x3xf32>, tensor<3x5x4xf32>) -> tensor<5x2x4xf32>\n"
            "%1 = \"stablehlo.transpose\"(%0) {permutation = array<i64: 2, 1, 0>} : "
            "(tensor<5x2x4xf32>) -> tensor<4x2x5xf32>\n");
}

TEST(TextImport, CrossReplicaSum) {
  const std::string ops = ops_of("%a: tensor<2xf32>",
                                 "%0 = \"stablehlo.cross-replica-sum\"(%a) {replica_groups = "
                                 "dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xf32>) -> "
                                 "tensor<2xf32>");
  EXPECT_NE(ops.find("\"stablehlo.all_reduce\"(%arg0) ({"), std::string::npos) << ops;
  EXPECT_NE(ops.find("\"stablehlo.add\""), std::string::npos) << ops;
}

// A tuple's leaves stand for it in operands, results, parameters and regions.
TEST(TextImport, TuplesAreFlattened) {
  const auto module = parse(R"(
    !pair = tuple<tensor<1xf32>, tuple<tensor<2xf32>, tensor<3xf32>>>
    func.func @main(%t: !pair {x.y}, %u: tensor<4xf32> {x.z}) -> (!pair, tensor<3xf32> {x.r}) {
      %0 = stablehlo.get_tuple_element %t[1] : (!pair) -> tuple<tensor<2xf32>, tensor<3xf32>>
      %1 = "stablehlo.get_tuple_element"(%0) {index = 1 : i32} : (tuple<tensor<2xf32>, tensor<3xf32>>) -> tensor<3xf32>
      %2:2 = call @f(%t, %u) : (!pair, tensor<4xf32>) -> (tensor<4xf32>, !pair)
      %3 = stablehlo.get_tuple_element %2#1[0] : (!pair) -> tensor<1xf32>
      %4 = stablehlo.tuple %3, %0 : !pair
      return %4, %1 : !pair, tensor<3xf32>
    }
    func.func @f(%t: !pair, %u: tensor<4xf32>) -> (tensor<4xf32>, !pair) {
      return %u, %t : tensor<4xf32>, !pair
    })");
  verify(*module);
  const std::string text = print(module->entry(), {.pretty = true});
  EXPECT_EQ(
      text,
      R"(func.func public @main(%arg0: tensor<1xf32> {x.y}, %arg1: tensor<2xf32>, %arg2: tensor<3xf32>, %arg3: tensor<4xf32> {x.z}) -> (tensor<1xf32>, tensor<2xf32>, tensor<3xf32>, tensor<3xf32> {x.r}) {
  %0:4 = call @f(%arg0, %arg1, %arg2, %arg3) : (tensor<1xf32>, tensor<2xf32>, tensor<3xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<1xf32>, tensor<2xf32>, tensor<3xf32>)
  return %0#1, %arg1, %arg2, %arg2 : tensor<1xf32>, tensor<2xf32>, tensor<3xf32>, tensor<3xf32>
}
)");
}

TEST(TextImport, ChecksAreCustomCalls) {
  EXPECT_EQ(
      ops_of("%a: tensor<2xf32>", R"(
    check.expect_eq %a, %a : tensor<2xf32>
    check.expect_eq_const %a, dense<[1.0, 2.0]> : tensor<2xf32>
    check.expect_almost_eq %a, %a, tolerance = 0.1 : tensor<2xf32>
    check.expect_almost_eq_const %a, dense<0.0> : tensor<2xf32> {tolerance = 0.1 : f64}
    check.expect_close %a, %a, max_ulp_difference = 3, min_ulp_difference = 1 : tensor<2xf32>, tensor<2xf32>
    "check.expect_eq_const"(%a) {value = dense<1.0> : tensor<2xf32>} : (tensor<2xf32>) -> ()
    %b = interpreter.probe %a, probe_id = "p" : tensor<2xf32>
    check.expect_serialized_eq %b, probe_id = "p", iter = 1 : tensor<2xf32>)"),
      R"("stablehlo.custom_call"(%arg0, %arg0) {call_target_name = "check.expect_eq", has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
%0 = "stablehlo.constant"() {value = dense<[1.0, 2.0]> : tensor<2xf32>} : () -> tensor<2xf32>
"stablehlo.custom_call"(%arg0, %0) {call_target_name = "check.expect_eq_const", has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
"stablehlo.custom_call"(%arg0, %arg0) {call_target_name = "check.expect_almost_eq", has_side_effect = true, tolerance = 0.1} : (tensor<2xf32>, tensor<2xf32>) -> ()
%1 = "stablehlo.constant"() {value = dense<0.0> : tensor<2xf32>} : () -> tensor<2xf32>
"stablehlo.custom_call"(%arg0, %1) {call_target_name = "check.expect_almost_eq_const", has_side_effect = true, tolerance = 0.1 : f64} : (tensor<2xf32>, tensor<2xf32>) -> ()
"stablehlo.custom_call"(%arg0, %arg0) {call_target_name = "check.expect_close", has_side_effect = true, max_ulp_difference = 3, min_ulp_difference = 1} : (tensor<2xf32>, tensor<2xf32>) -> ()
%2 = "stablehlo.constant"() {value = dense<1.0> : tensor<2xf32>} : () -> tensor<2xf32>
"stablehlo.custom_call"(%arg0, %2) {call_target_name = "check.expect_eq_const", has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
%3 = "stablehlo.custom_call"(%arg0) {call_target_name = "interpreter.probe", has_side_effect = true, probe_id = "p"} : (tensor<2xf32>) -> tensor<2xf32>
"stablehlo.custom_call"(%3) {call_target_name = "check.expect_serialized_eq", has_side_effect = true, probe_id = "p", iter = 1} : (tensor<2xf32>) -> ()
)");
}

TEST(TextImport, ChloIsExpanded) {
  const auto module = parse(R"(
    func.func @main(%a: tensor<2x1xf32>, %b: tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x3xi1>) {
      %0 = chlo.broadcast_add %a, %b : (tensor<2x1xf32>, tensor<3xf32>) -> tensor<2x3xf32>
      %1 = "chlo.broadcast_compare"(%a, %b) {broadcast_dimensions = array<i64: 1>, comparison_direction = #chlo<comparison_direction LT>} : (tensor<2x1xf32>, tensor<3xf32>) -> tensor<2x3xi1>
      return %0, %1 : tensor<2x3xf32>, tensor<2x3xi1>
    })");
  verify(*module);
  const auto results =
      Evaluator().run(module->entry(), std::vector<Tensor>{Tensor::of<float>({2, 1}, {1, 2}),
                                                           Tensor::of<float>({3}, {10, 20, 1.5})});
  EXPECT_TRUE(results[0].identical(Tensor::of<float>({2, 3}, {11, 21, 2.5, 12, 22, 3.5})));
  EXPECT_TRUE(
      results[1].identical(Tensor::of<bool>({2, 3}, {true, true, true, true, true, false})));
}

TEST(TextImport, WhatIsNotThereIsNamed) {
  const auto with = [](const std::string& text) {
    return error_of("func.func @main(%a: tensor<2xf32>) {\n" + text + "\nreturn\n}");
  };
  const std::pair<std::string, std::string> rows[] = {
      {"%0 = stablehlo.dynamic_iota %a, dim = 0 : (tensor<2xf32>) -> tensor<4xf32>",
       "UNIMPLEMENTED: f:2:6: op, got stablehlo.dynamic_iota, expected one of the opcode table"},
      {"%0 = \"stablehlo.dynamic_iota\"(%a) : (tensor<2xf32>) -> tensor<?xf32>",
       "UNIMPLEMENTED: f:2:6: op, got \"stablehlo.dynamic_iota\", expected one of the opcode "
       "table"},
      {"%0 = chlo.foo %a : tensor<2xf32> -> tensor<2xf32>",
       "UNIMPLEMENTED: f:2:6: op, got chlo.foo, expected one of the opcode table"},
      {"%0 = stablehlo.add %a, %a : tensor<2x!quant.uniform<i8:f32, 1.0>>",
       "UNIMPLEMENTED: f:2:38: element type, got '!quant.uniform'"},
      {"%0 = stablehlo.add %a, %a : tensor<2xf8E4M3FN>",
       "UNIMPLEMENTED: f:2:38: element type, got 'f8E4M3FN'"},
      {"%0 = stablehlo.add %a, %a : tensor<2xf32, #x>",
       "UNIMPLEMENTED: f:2:41: tensor type, got an encoding"},
      {"%0 = stablehlo.add %a, %a : tensor<*xf32>",
       "UNIMPLEMENTED: f:2:36: tensor type, got a dynamic size"},
      {"%0 = stablehlo.add %a, %a : !stablehlo.future<tensor<2xf32>>",
       "UNIMPLEMENTED: f:2:29: type, got '!stablehlo.future'"},
      {"%0 = stablehlo.einsum %a, %a, config = \"...a,a->...\" : (tensor<2xf32>, tensor<2xf32>) -> "
       "tensor<f32>",
       "UNIMPLEMENTED: f:2:6: einsum: config"},
      {"%0 = stablehlo.dot %a, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>",
       "INVALID_ARGUMENT: f:2:6: dot_general: "},
      {"%0 = stablehlo.get_tuple_element %a[0] : (tensor<2xf32>) -> tensor<2xf32>",
       "INVALID_ARGUMENT: f:2:6: get_tuple_element: operand, expected one tuple"},
      {"%t = stablehlo.tuple %a : tuple<tensor<2xf32>>\n%0 = stablehlo.get_tuple_element %t[1] : "
       "(tuple<tensor<2xf32>>) -> tensor<2xf32>",
       "INVALID_ARGUMENT: f:3:6: get_tuple_element: index, got 1, expected one of 1 elements"},
      {"%t = stablehlo.tuple %a : tuple<tensor<2xf32>>\n%0 = stablehlo.abs %t : "
       "tuple<tensor<2xf32>>",
       "INVALID_ARGUMENT: f:3:25: types, got a tuple, expected tensors"},
      {"%0 = check.expect_eq %a : ()",
       "INVALID_ARGUMENT: f:2:22: operand types, got (), expected (f32[2])"},
      {"%t = stablehlo.tuple %a : tuple<tensor<3xf32>>",
       "INVALID_ARGUMENT: f:2:22: operand types, got (f32[3]), expected (f32[2])"},
      {"%0 = stablehlo.reduce(%a init: %a) applies stablehlo.abs across dimensions = [0] : "
       "(tensor<2xf32>, tensor<2xf32>) -> tensor<f32>",
       "INVALID_ARGUMENT: f:2:44: reduce, got 'stablehlo.abs', expected an elementwise op of two "
       "operands"},
  };
  for (const auto& [text, error] : rows) {
    EXPECT_EQ(with(text).substr(0, error.size()), error) << with(text);
  }
}

}  // namespace
}  // namespace systole::hlo
