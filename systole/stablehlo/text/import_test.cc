// Ops that no module keeps are read as what stands for them; what nothing stands for is refused.
#include "systole/stablehlo/text/import.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/log.h"
#include "systole/hlo/semantics/evaluator.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/stablehlo/text/text.h"

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

// A large constant of equal elements costs no more than one.
TEST(TextImport, Splats) {
  EXPECT_EQ(ops_of("", "%0 = stablehlo.constant dense<1.5> : tensor<4096x1048576xf32>"),
            "%0 = \"stablehlo.constant\"() {value = dense<1.5> : tensor<f32>} : () -> tensor<f32>\n"
            "%1 = \"stablehlo.broadcast_in_dim\"(%0) {broadcast_dimensions = array<i64>} : "
            "(tensor<f32>) -> tensor<4096x1048576xf32>\n");
  EXPECT_EQ(ops_of("",
                   "%0 = \"stablehlo.constant\"() <{value = dense<\"0x01\"> : tensor<8192xi1>}> : "
                   "() -> tensor<8192xi1>"),
            "%0 = \"stablehlo.constant\"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>\n"
            "%1 = \"stablehlo.broadcast_in_dim\"(%0) {broadcast_dimensions = array<i64>} : "
            "(tensor<i1>) -> tensor<8192xi1>\n");
}

TEST(TextImport, Resources) {
  const std::string function =
      "func.func @main() -> tensor<2xi16> {\n"
      "  %0 = stablehlo.constant dense_resource<a.b> : tensor<2xi16>\n"
      "  return %0 : tensor<2xi16>\n}\n";
  const std::string list =
      "\n{-#\n  dialect_resources: {\n    builtin: {\n      c: \"0x0800000000\",\n"
      "      a.b: \"0x020000000100FFFF\"\n    }\n  }\n#-}\n";
  const auto module = parse(function + list);
  const Instruction& constant = *module->entry().results()[0].def;
  EXPECT_EQ(constant.attrs<ConstantAttrs>().value.data<int16_t>()[0], 1);
  EXPECT_EQ(constant.attrs<ConstantAttrs>().value.data<int16_t>()[1], -1);
  EXPECT_EQ(
      error_of(function),
      "INVALID_ARGUMENT: f:2:42: constant, got the resource 'a.b', expected one that the text "
      "ends with, {-# dialect_resources: ... #-}");
  EXPECT_EQ(error_of(function + "\n{-# dialect_resources: {builtin: {a.b: \"0x02000000\"}} #-}"),
            "INVALID_ARGUMENT: f:6:40: resource 'a.b', got 10 characters, expected 18 for "
            "tensor<2xi16>");
  EXPECT_NE(error_of("func.func @main() { %0 = stablehlo.constant dense_resource<__elided__> : "
                     "tensor<9x9x9xf32> return }")
                .find("constant, got one whose elements the exporter left out"),
            std::string::npos);
}

// Resources may stand anywhere on a line, but in no string and no comment.
TEST(TextImport, ResourcesAreFoundOnAnyLine) {
  const std::string text =
      "// {-# dialect_resources: {builtin: {r: \"0x0200000009000900\"}} #-}\n"
      "module attributes {a.b = \"\\22 {-#\"} { func.func @main() -> tensor<2xi16> {\n"
      "  %0 = stablehlo.constant dense_resource<r> : tensor<2xi16>\n"
      "  return %0 : tensor<2xi16>\n} }";
  const std::string list = "{-# dialect_resources: {builtin: {r: \"0x020000000100FFFF\"}} #-}";
  for (const char* before : {" ", "\n", "\n  ", "\n#x = 1 "}) {
    const auto module = parse(fmt::format("{}{}{}", text, before, list));
    const Instruction& constant = *module->entry().results()[0].def;
    EXPECT_EQ(constant.attrs<ConstantAttrs>().value.data<int16_t>()[0], 1) << before;
  }
}

TEST(TextImport, ConstantsOfOtherDialects) {
  EXPECT_EQ(ops_of("",
                   "%0 = arith.constant 5 : i32\n%1 = arith.constant -2 : index\n"
                   "%2 = arith.constant true\n%3 = arith.constant {a.b} 1.5 : f32\n"
                   "%4 = arith.constant dense<1> : tensor<2xi8>\n"
                   "%5 = stablehlo.abs %0 : tensor<i32>"),
            "%0 = \"stablehlo.constant\"() {value = dense<5> : tensor<i32>} : () -> tensor<i32>\n"
            "%1 = \"stablehlo.constant\"() {value = dense<-2> : tensor<i64>} : () -> tensor<i64>\n"
            "%2 = \"stablehlo.constant\"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>\n"
            "%3 = \"stablehlo.constant\"() {value = dense<1.5> : tensor<f32>} : () -> "
            "tensor<f32>\n"
            "%4 = \"stablehlo.constant\"() {value = dense<1> : tensor<2xi8>} : () -> "
            "tensor<2xi8>\n"
            "%5 = \"stablehlo.abs\"(%0) : (tensor<i32>) -> tensor<i32>\n");
}

TEST(TextImport, AMarkBeforeTheTextIsSkipped) {
  const std::string text = "\xef\xbb\xbfmodule @m { func.func @main() { return } }";
  EXPECT_EQ(parse(text)->name(), "m");
  EXPECT_EQ(parse_all(text, "f").size(), 1U);
}

TEST(TextImport, RawConvolutionsHaveNoOtherFields) {
  const std::string text =
      "func.func @main(%a: tensor<1x4x2xf32>, %b: tensor<3x2x5xf32>) -> tensor<1x2x5xf32> {\n"
      "%0 = \"stablehlo.convolution\"(%a, %b) {dimension_numbers = #stablehlo.conv<raw "
      "input_batch_dimension = 0, input_feature_dimension = 2, input_spatial_dimensions = [1], "
      "kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 2, "
      "kernel_spatial_dimensions = [0], output_batch_dimension = 0, output_feature_dimension = 2, "
      "output_spatial_dimensions = [1]>, batch_group_count = 1 : i64, feature_group_count = 1 : "
      "i64} : (tensor<1x4x2xf32>, tensor<3x2x5xf32>) -> tensor<1x2x5xf32>\n"
      "return %0 : tensor<1x2x5xf32>\n}";
  EXPECT_EQ(error_of(text), "no error");
  std::string other = text;
  other.replace(other.find(">, batch_group"), 1, ", foo = 2>");
  EXPECT_NE(error_of(other).find("dimension_numbers, got 'foo', expected none of that name"),
            std::string::npos)
      << error_of(other);
}

// A module's text must read back as what it was.
TEST(TextImport, NoAttributeIsNamedAsAMesh) {
  EXPECT_EQ(
      error_of("module attributes {\"sdy.mesh @x\" = 5 : i32} {}"),
      "INVALID_ARGUMENT: f:1:36: attributes, got 'sdy.mesh @x', expected the symbol 'sdy.mesh @' "
      "among the functions");
}

// Shardings are custom calls; what each device does by itself is a function.
TEST(TextImport, OtherNames) {
  EXPECT_EQ(
      ops_of("%a: tensor<2xf32>",
             "%0 = \"mhlo.compare\"(%a, %a) {comparison_direction = "
             "#mhlo<comparison_direction LT>} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>"),
      "%0 = \"stablehlo.compare\"(%arg0, %arg0) {comparison_direction = "
      "#stablehlo<comparison_direction LT>} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>\n");
  EXPECT_EQ(
      ops_of("%a: tensor<2xf32>",
             "%0 = stablehlo.custom_call @mhlo.erf(%a) {mhlo.attributes = {}, mhlo.version = 1 "
             ": i64} : (tensor<2xf32>) -> tensor<2xf32>"),
      ops_of("%a: tensor<2xf32>", "%0 = chlo.erf %a : tensor<2xf32> -> tensor<2xf32>"));
  EXPECT_EQ(
      ops_of("%a: tensor<5xf32>",
             "%0:2 = stablehlo.custom_call @mhlo.topk(%a) {mhlo.attributes = {k = 2 : i64, "
             "largest = true}} : (tensor<5xf32>) -> (tensor<2xf32>, tensor<2xi32>)"),
      ops_of("%a: tensor<5xf32>",
             "%0:2 = chlo.top_k(%a, k = 2) : tensor<5xf32> -> (tensor<2xf32>, tensor<2xi32>)"));
}

TEST(TextImport, OtherFormatsAreNamed) {
  const std::pair<std::string, std::string> rows[] = {
      {"ML\xefR\x0dStableHLO_v1.0.0", "format, got MLIR bytecode, expected StableHLO text"},
      {"HloModule jit_f, entry_computation_layout={}", "format, got HLO text"},
      {std::string("\n\x05jit_f\0", 8), "format, got binary data"},
      {"PK\x03\x04", "format, got a zip archive"},
      {"module {\nvhlo.func_v1 @main() {}\n}", "2:1: module, got 'vhlo.func_v1', expected "},
      {"func.func @main() {\n\"vhlo.return_v1\"() : () -> ()\n}",
       "2:1: op, got \"vhlo.return_v1\""},
  };
  for (const auto& [text, error] : rows) {
    EXPECT_NE(error_of(text).find("UNIMPLEMENTED: f:"), std::string::npos) << error_of(text);
    EXPECT_NE(error_of(text).find(error), std::string::npos) << error_of(text);
  }
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

using TextsAndErrors = std::vector<std::pair<std::string, std::string>>;

// What is said of each text, in a function with a parameter %a, begins with its error.
void expect_errors(const TextsAndErrors& rows) {
  for (const auto& [text, error] : rows) {
    const std::string said =
        error_of("func.func @main(%a: tensor<2xf32>) {\n" + text + "\nreturn\n}");
    EXPECT_EQ(said.substr(0, error.size()), error) << said;
  }
}

TEST(TextImport, WhatIsNotThereIsNamed) {
  const TextsAndErrors rows = {
      {"%0 = stablehlo.dynamic_iota %a, dim = 0 : (tensor<2xf32>) -> tensor<4xf32>",
       "UNIMPLEMENTED: f:2:6: op, got stablehlo.dynamic_iota, expected one of the opcode table"},
      {"%0 = \"stablehlo.dynamic_iota\"(%a) : (tensor<2xf32>) -> tensor<?xf32>",
       "UNIMPLEMENTED: f:2:6: op, got \"stablehlo.dynamic_iota\", expected one of the opcode "
       "table"},
      {"%0 = sdy.all_gather [{\"x\"}] %a out_sharding=<@m, [{}]> : tensor<2xf32>",
       "UNIMPLEMENTED: f:2:6: op, got sdy.all_gather, expected one of the opcode table"},
      {"%0:2 = stablehlo.custom_call @mhlo.topk(%a) {mhlo.attributes = {largest = true}} : "
       "(tensor<2xf32>) -> (tensor<1xf32>, tensor<1xi32>)",
       "INVALID_ARGUMENT: f:2:8: top_k: attributes, got no 'k', expected one"},
      {"%0:2 = chlo.top_k(%a) : tensor<2xf32> -> (tensor<1xf32>, tensor<1xi32>)",
       "INVALID_ARGUMENT: f:2:8: top_k: attributes, got no 'k', expected one"},
      {"%0 = chlo.foo %a : tensor<2xf32> -> tensor<2xf32>",
       "UNIMPLEMENTED: f:2:6: op, got chlo.foo, expected one of the opcode table"},
      {"%0 = stablehlo.add %a, %a : tensor<2x!quant.any<i8:f32>>",
       "UNIMPLEMENTED: f:2:38: element type, got '!quant.any'"},
      {"%0 = stablehlo.add %a, %a : tensor<2xf6E2M3FN>",
       "UNIMPLEMENTED: f:2:38: element type, got 'f6E2M3FN'"},
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
      {"%0 = stablehlo.reduce(%a init: %a) applies stablehlo.add across dimensions = [0] : "
       "(tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>",
       "UNIMPLEMENTED: f:2:6: reduce: initial value 0, got f32[2], expected a scalar"},
      {"%0 = check.expect_eq %a : ()",
       "INVALID_ARGUMENT: f:2:22: operand types, got (), expected (f32[2])"},
      {"%t = stablehlo.tuple %a : tuple<tensor<3xf32>>",
       "INVALID_ARGUMENT: f:2:22: operand types, got (f32[3]), expected (f32[2])"},
      {"%0 = stablehlo.reduce(%a init: %a) applies stablehlo.abs across dimensions = [0] : "
       "(tensor<2xf32>, tensor<2xf32>) -> tensor<f32>",
       "INVALID_ARGUMENT: f:2:44: reduce, got 'stablehlo.abs', expected an elementwise op of two "
       "operands"},
  };
  expect_errors(rows);
}

TEST(TextImport, CallsMayComeBeforeDefinitions) {
  const auto module = parse(R"(
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  call @nothing() : () -> ()
  %y = call @twice(%x) : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}
func.func private @nothing() { return }
func.func private @twice(%x: tensor<f32>) -> tensor<f32> {
  %y = stablehlo.add %x, %x : tensor<f32>
  return %y : tensor<f32>
})");
  verify(*module);
  const std::vector<Tensor> arguments{Tensor(3.0F)};
  EXPECT_EQ(Evaluator().run(module->entry(), arguments)[0].item<float>(), 6);
  EXPECT_EQ(error_of("func.func @main() {\n call @f() : () -> ()\n return\n}\nfunc.func private "
                     "@f(%x: tensor<f32>) { return }"),
            "INVALID_ARGUMENT: f:2:2: call: operand types, got (), expected (f32[])");
}

TEST(TextImport, DeclarationsAreKept) {
  const std::string text = R"(module @m {
  func.func private @mesh() -> ()
  func.func private @outside(tensor<2xf32>, tensor<i32>) -> (tensor<f32>)
  func.func public @main(%arg0: tensor<2xf32>) {
    stablehlo.custom_call @f(%arg0) {called_computations = [@outside], m = @mesh} : (tensor<2xf32>) -> ()
    return
  }
}
)";
  EXPECT_EQ(print(*parse(text), {.pretty = true}), text);
  EXPECT_EQ(print(*parse(print(*parse(text))), {.pretty = true}), text);
  EXPECT_EQ(print(*parse("module @m {\nfunc.func private @mesh()\nfunc.func private @outside(%a: "
                         "tensor<2xf32> {x.y}, tensor<i32>) -> tensor<f32> attributes {k}\n" +
                         text.substr(text.find("  func.func public"))),
                  {.pretty = true}),
            text);
}

TEST(TextImport, DeclarationsCannotBeCalled) {
  const std::string main = "func.func @main() {\n call @f() : () -> ()\n return\n}\n";
  EXPECT_EQ(
      error_of("module {\n" + main + "func.func private @f()\n}"),
      "UNIMPLEMENTED: f:3:2: call: callee, got @f, which has no body, expected a function with "
      "one");
  EXPECT_EQ(error_of("module {\nfunc.func @f()\n}"),
            "INVALID_ARGUMENT: f:3:1: function @f, got '}', expected '{' and its body");
  EXPECT_EQ(error_of("module {\nfunc.func private @f()\nfunc.func private @f() { return }\n}"),
            "INVALID_ARGUMENT: f:3:19: function, got @f again, expected a new name");
}

TEST(TextImport, RandomStatesOfOtherIntegers) {
  const auto drawn = [](const std::string& state, const std::string& type) {
    const auto module = parse(
        "func.func @main() -> (" + type + ", tensor<3xui32>) {\n%s = stablehlo.constant dense<" +
        state + "> : " + type +
        "\n%n, %r = stablehlo.rng_bit_generator %s, algorithm = " + "THREE_FRY : (" + type +
        ") -> (" + type + ", tensor<3xui32>)\nreturn %n, %r : " + type + ", tensor<3xui32>\n}");
    verify(*module);
    return Evaluator().run(module->entry(), {});
  };
  const auto expected = drawn("[12884901890, 4]", "tensor<2xui64>");  // 3 * 2^32 + 2
  const auto signed_words = drawn("[12884901890, 4]", "tensor<2xi64>");
  const auto halves = drawn("[2, 3, 4, 0]", "tensor<4xui32>");
  EXPECT_TRUE(signed_words[1].identical(expected[1]));
  EXPECT_TRUE(halves[1].identical(expected[1]));
  const auto words = expected[0].data<uint64_t>();
  const auto low = halves[0].data<uint32_t>();
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(words[i], low[2 * i] | (uint64_t{low[2 * i + 1]} << 32U));
    EXPECT_EQ(words[i], static_cast<uint64_t>(signed_words[0].data<int64_t>()[i]));
  }
}

TEST(TextImport, EnumsOfMhlo) {
  const std::string text =
      "%s = stablehlo.constant dense<2> : tensor<1xi64>\n"
      "%0 = \"mhlo.rng\"(%a, %a, %s) {rng_distribution = #mhlo.rng_distribution<NORMAL>} : "
      "(tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<2xf32>";
  EXPECT_NE(ops_of("%a: tensor<f32>", text)
                .find("{rng_distribution = #stablehlo<rng_distribution NORMAL>}"),
            std::string::npos);
}

TEST(TextImport, AttributesThatPlaceValuesAreIgnoredWithANote) {
  const LogCapture log;
  EXPECT_EQ(ops_of("%a: tensor<2xf32>",
                   "%0 = stablehlo.abs %a {device = \"x:0\", minor_to_major = dense<0> : "
                   "tensor<1xindex>} : tensor<2xf32>"),
            "%0 = \"stablehlo.abs\"(%arg0) : (tensor<2xf32>) -> tensor<2xf32>\n");
  EXPECT_EQ(log.messages().size(), 2U);
}

// The errors below are errors of StableHLO's verifier, too.

void expect_refused(const TextsAndErrors& rows) {
  for (const auto& [text, error] : rows) {
    EXPECT_THAT(error_of("func.func @main(%a: tensor<2xf32>) {\n" + text +
                         "\nreturn\n}\nfunc.func private @g(%x: tensor<2xf32>) { return }\n"),
                ::testing::HasSubstr(error));
  }
}

TEST(TextImport, ResultAccuracyIsChecked) {
  const std::string accuracy =
      "%0 = \"stablehlo.tanh\"(%a) {result_accuracy = "
      "#stablehlo.result_accuracy<";
  const std::string mode = "mode = #stablehlo.result_accuracy_mode<";
  const std::string tanh = ">>} : (tensor<2xf32>) -> tensor<2xf32>";
  const TextsAndErrors rows = {
      {accuracy + "atol = 1.0, " + mode + "HIGHEST" + tanh, "tanh: result_accuracy, got atol 1"},
      {accuracy + "ulps = -1, " + mode + "TOLERANCE" + tanh, "expected values >= 0"},
      {"%0 = stablehlo.abs %a {a.b = #stablehlo.result_accuracy<atol = 1.0, " + mode +
           "HIGHEST>>} : tensor<2xf32>",
       "result_accuracy, got atol 1"},
      {accuracy + "speed = 1, " + mode + "DEFAULT" + tanh, "got 'speed', expected none"},
  };
  expect_refused(rows);
}

TEST(TextImport, DotAlgorithmsAreChecked) {
  const auto dot = [](const std::string& attrs) {
    return "%0 = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0], " + attrs +
           " : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>";
  };
  const auto algorithm = [](const std::string& type, int left, int steps) {
    return fmt::format(
        "algorithm = <lhs_precision_type = {0}, rhs_precision_type = {0}, accumulation_type = f32, "
        "lhs_component_count = {1}, rhs_component_count = 1, num_primitive_operations = {2}, "
        "allow_imprecise_accumulation = false>",
        type, left, steps);
  };
  const TextsAndErrors rows = {
      {dot("precision = [HIGH, HIGH, HIGH]"),
       "dot_general: precision_config, got 3 values, expected at most 2"},
      {dot("precision = [HIGH, HIGH], " + algorithm("tf32", 1, 1)),
       "precision_config, got HIGH or HIGHEST with an algorithm"},
      {dot(algorithm("tf32", 0, 1)), "algorithm: counts, got [0, 1, 1], expected values >= 1"},
      {dot(algorithm("bf16", 1, 2)), "algorithm, got bf16 x bf16 -> f32 with counts [1, 1, 2]"},
  };
  expect_refused(rows);
}

TEST(TextImport, CustomCallsAreChecked) {
  const std::string call = "stablehlo.custom_call @f(%a) {";
  const std::string called = "} : (tensor<2xf32>) -> tensor<2xf32>";
  const auto alias = [](const std::string& fields) {
    return "output_operand_aliases = [#stablehlo.output_operand_alias<" + fields + ">]";
  };
  const TextsAndErrors rows = {
      {call + "operand_layouts = [dense<0> : tensor<1xindex>]" + called,
       "layouts, got those of operands or of results, expected both or none"},
      {call + "operand_layouts = [], result_layouts = [dense<0> : tensor<1xindex>]" + called,
       "operand_layouts, got 0, expected 1"},
      {call +
           "operand_layouts = [dense<[1]> : tensor<1xindex>], result_layouts = [dense<0> : "
           "tensor<1xindex>]" +
           called,
       "operand_layouts, got another layout for f32[2], expected a permutation of its 1 axes"},
      {call + "backend_config = {x = 1}" + called, "expected a string with api_version 1"},
      {call + "backend_config = \"x\", api_version = 4 : i32" + called,
       "expected a dictionary with api_version 4"},
      {call + alias("output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []") +
           called,
       "operand_index of an alias, got 1, expected in [0, 1)"},
      {call + alias("output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []") +
           called,
       "output_tuple_indices of an alias, got 0, expected in [0, 0)"},
      {call + alias("operand_index = 0, operand_tuple_indices = []") + called,
       "got no 'output_tuple_indices', expected one"},
      {call +
           alias(
               "output_tuple_indices = [], operand_index = 0, operand_tuple_indices = [], a = 1") +
           called,
       "got 'a', expected none of that name"},
      {call + "api_version = 5 : i32" + called, "api_version, got 5, expected in [0, 5)"},
      {call + "api_version = 2" + called, "api_version, got 2, expected an integer of type i32"},
      {call + "api_version = 2 : i64" + called, "api_version, got 2 : i64, expected an integer"},
      {call +
           "operand_layouts = [dense<0> : tensor<1xi64>], result_layouts = [dense<0> : "
           "tensor<1xindex>]" +
           called,
       "operand_layouts, got another layout for f32[2], expected a permutation of its 1 axes as "
       "indices"},
  };
  expect_refused(rows);
}

TEST(TextImport, InvalidOpsAreRefused) {
  const TextsAndErrors rows = {
      {"stablehlo.composite \"0.f\" %a {decomposition = @g} : (tensor<2xf32>) -> ()",
       "composite: name, got '0.f'"},
      {"stablehlo.composite \"f.g%\" %a {decomposition = @g} : (tensor<2xf32>) -> ()",
       "composite: name, got 'f.g%'"},
      {"stablehlo.composite \"f.g\" %a {composite_attributes = [1], decomposition = @g} : "
       "(tensor<2xf32>) -> ()",
       "composite: composite_attributes, got [1], expected {...}"},
      {"%s = stablehlo.constant dense<7> : tensor<1xi64>\n%c = stablehlo.constant dense<1.0> : "
       "tensor<f32>\n%0 = stablehlo.rng %c, %c, %s, distribution = UNIFORM : (tensor<f32>, "
       "tensor<f32>, tensor<1xi64>) -> tensor<12xf32>",
       "rng: shape, got [7] for a result of [12], expected equal"},
  };
  expect_refused(rows);
}

// JAX 0.11 and later names groups so.
TEST(TextImport, TuplesAreRefusedInOtherOps) {
  const std::string tuple = "%t = stablehlo.tuple %a : tuple<tensor<2xf32>>\n";
  const std::string window =
      "%z = stablehlo.constant dense<0.0> : tensor<f32>\n%0 = \"stablehlo.select_and_scatter\"(%a, "
      "%a, %z) ({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n%c = stablehlo.compare GE, %x, %y : "
      "(tensor<f32>, tensor<f32>) -> tensor<i1>\n";
  const std::string sum =
      "}, {\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n%s = stablehlo.add %x, %y : tensor<f32>\n";
  const std::string end =
      "}) {window_dimensions = array<i64: 1>, window_strides = array<i64: 1>} : (tensor<2xf32>, "
      "tensor<2xf32>, tensor<f32>) -> tensor<2xf32>";
  const TextsAndErrors rows = {
      {tuple + "%0 = \"stablehlo.abs\"(%t) : (tuple<tensor<2xf32>>) -> tensor<2xf32>",
       "abs: operands, got a tuple, expected tensors and tokens"},
      {"%0 = \"stablehlo.abs\"(%a) : (tensor<2xf32>) -> tuple<tensor<2xf32>>",
       "abs: results, got a tuple"},
      {window +
           "%d = stablehlo.tuple %c : tuple<tensor<i1>>\nstablehlo.return %d : "
           "tuple<tensor<i1>>\n" +
           sum + "stablehlo.return %s : tensor<f32>\n" + end,
       "return: operands, got a tuple"},
      {window + "stablehlo.return %c : tensor<i1>\n" + sum +
           "%d = stablehlo.tuple %s : tuple<tensor<f32>>\nstablehlo.return %d : "
           "tuple<tensor<f32>>\n" +
           end,
       "return: operands, got a tuple"},
      {"%0 = \"stablehlo.map\"(%a) ({\n^bb0(%x: tuple<tensor<f32>>):\n%y = "
       "stablehlo.get_tuple_element %x[0] : (tuple<tensor<f32>>) -> tensor<f32>\nstablehlo.return "
       "%y : tensor<f32>\n}) {dimensions = array<i64: 0>} : (tensor<2xf32>) -> tensor<2xf32>",
       "map: parameter of a region, got a tuple"},
  };
  expect_refused(rows);
}

TEST(TextImport, AttributesOfParametersAreChecked) {
  const auto error = [](const std::string& parameter, const std::string& result) {
    return error_of("func.func @main(%a: tensor<2xf32> {" + parameter + "}) -> (tensor<2xf32> {" +
                    result + "}) { return %a : tensor<2xf32> }");
  };
  EXPECT_EQ(error("a.b = 1", "a.b = 1"), "no error");
  EXPECT_THAT(error("foo = 1", ""),
              ::testing::HasSubstr("got 'foo', expected names with a dialect"));
  EXPECT_THAT(error("", "foo = 1"),
              ::testing::HasSubstr("got 'foo', expected names with a dialect"));
}

TEST(TextImport, NumbersFitTheirTypes) {
  const auto error = [](const std::string& attribute) {
    return error_of("module attributes {a.b = " + attribute + "} {}");
  };
  for (const std::string good :
       {"255 : i8", "-128 : i8", "255 : ui8", "1 : i1", "-1 : index", "18446744073709551615 : ui64",
        "0xFF80 : bf16", "2 : f8E4M3FN", "-1.5 : f32", "9223372036854775807", "3 : si3"}) {
    EXPECT_EQ(error(good), "no error") << good;
  }
  for (const std::string bad : {"256 : i8", "-129 : i8", "128 : si8", "-1 : ui8", "-1 : ui64",
                                "1.5 : i32", "1.5 : index", "3 : i", "3 : none", "1 : i0"}) {
    EXPECT_THAT(error(bad), ::testing::HasSubstr("got a number that is no value of type")) << bad;
  }
  EXPECT_EQ(error("9223372036854775807 : i63"), "no error");
  EXPECT_THAT(error("4611686018427387904 : si63"), ::testing::HasSubstr("no value of type"));
  EXPECT_THAT(error("#nothing"), ::testing::HasSubstr("got the alias '#nothing'"));
}

TEST(TextImport, CountsOfProcessesAreChecked) {
  const auto error = [](const std::string& count) {
    return error_of("module attributes {mhlo.num_replicas = " + count + "} {}");
  };
  EXPECT_EQ(error("2 : i32"), "no error");
  EXPECT_THAT(error("0 : i32"), ::testing::HasSubstr("mhlo.num_replicas, got 0"));
  EXPECT_THAT(error("\"2\""), ::testing::HasSubstr("mhlo.num_replicas, got another kind"));
}

TEST(TextImport, StructuresOfModulesAreChecked) {
  const auto error = [](const std::string& attribute) {
    return error_of("module attributes {a.b = " + attribute + "} {}");
  };
  EXPECT_EQ(error("#stablehlo.gather<offset_dims = [0], index_vector_dim = 1,>"), "no error");
  EXPECT_EQ(error("#stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>"), "no error");
  EXPECT_EQ(error("#other.gather<whatever>"), "no error");
  EXPECT_EQ(error("#mhlo.frontend<whatever>"), "no error");
  EXPECT_EQ(error("[#stablehlo<precision HIGH>, #stablehlo<result_accuracy_mode HIGHEST>]"),
            "no error");
  EXPECT_EQ(error("#stablehlo.bounds<2, ?>"), "no error");
  EXPECT_EQ(error("#stablehlo.type_extensions<bounds = [?, 2]>"), "no error");
  for (const std::string bad :
       {"#stablehlo.bounds<2, x>", "#stablehlo.bounds<-1>", "#stablehlo.type_extensions<[2]>",
        "#stablehlo.type_extensions<bounds = 2>", "#stablehlo.type_extensions<limits = [2]>",
        "#stablehlo.type_extensions<bounds = [2], limits = [2]>"}) {
    EXPECT_THAT(error(bad), ::testing::HasSubstr("bounds of a tensor, got")) << bad;
  }
  for (const std::string bad :
       {"#stablehlo<precision FOO>", "{x = [#stablehlo<precision FOO>]}",
        "#stablehlo.precision<FOO>", "#stablehlo<rng_algorithm FOO>",
        "#stablehlo<comparison_direction FOO>", "#stablehlo<result_accuracy_mode FOO>"}) {
    EXPECT_THAT(error(bad), ::testing::HasSubstr("got 'FOO', expected one such as")) << bad;
  }
  for (const std::string bad : {"#stablehlo.foo", "#stablehlo.foo<1>", "#stablehlo<foo BAR>"}) {
    EXPECT_THAT(error(bad), ::testing::HasSubstr("expected one of StableHLO")) << bad;
  }
  EXPECT_THAT(error("#stablehlo.output_operand_alias<operand_index = 0>"),
              ::testing::HasSubstr("got no 'output_tuple_indices'"));
  EXPECT_THAT(error("#stablehlo.scatter<index_vector_dim = 1, index_vector_dim = 1>"),
              ::testing::HasSubstr("got 'index_vector_dim' again"));
  EXPECT_THAT(error("#stablehlo.dot<foo = [0]>"), ::testing::HasSubstr("got 'foo', expected none"));
  EXPECT_THAT(error("#stablehlo.conv<[c, 0, f]x[0, i, o]->[b, 0, f]>"),
              ::testing::HasSubstr("got no 'b'"));
}

TEST(TextImport, DeprecatedOpsThatAreWrongAreNamed) {
  const TextsAndErrors rows = {
      {"%0 = stablehlo.unary_einsum %a, config = \"a->ab\" : (tensor<2xf32>) -> tensor<2x1xf32>",
       "INVALID_ARGUMENT: f:2:6: unary_einsum: config, got \"a->ab\", expected no 'b' in the "
       "result"},
      {"%0 = stablehlo.unary_einsum %a, config = \"a\" : (tensor<2xf32>) -> tensor<2xf32>",
       "INVALID_ARGUMENT: f:2:6: unary_einsum: config, got \"a\", expected one such as"},
      {"%i = stablehlo.constant dense<0> : tensor<1xi32>\n"
       "%0 = \"stablehlo.torch_index_select\"(%a, %i) {dim = 1 : i64, batch_dims = 0 : i64} : "
       "(tensor<2xf32>, tensor<1xi32>) -> tensor<1xf32>",
       "INVALID_ARGUMENT: f:3:6: torch_index_select: dim and batch_dims, got 1 and 0"},
      {"%0 = stablehlo.unary_einsum %a, config = \"ab->a\" : (tensor<2xf32>) -> tensor<2xf32>",
       "INVALID_ARGUMENT: f:2:6: unary_einsum: config, got \"ab->a\" with 'ab', expected 1 "
       "letters"},
      {"%0 = stablehlo.unary_einsum %a, config = \"a->aa\" : (tensor<2xf32>) -> tensor<2x2xf32>",
       "UNIMPLEMENTED: f:2:6: unary_einsum: config, got \"a->aa\", expected letters, each once in "
       "'aa'"},
      {"%i = stablehlo.constant dense<0> : tensor<1xi32>\n"
       "%0 = \"stablehlo.torch_index_select\"(%a, %i) {batch_dims = 0 : i64} : "
       "(tensor<2xf32>, tensor<1xi32>) -> tensor<1xf32>",
       "INVALID_ARGUMENT: f:3:6: stablehlo.torch_index_select: attributes, got no 'dim', expected "
       "one"},
      {"%i = stablehlo.constant dense<0> : tensor<1xi32>\n"
       "%0 = \"stablehlo.torch_index_select\"(%a, %i) {dim = 0 : i64} : "
       "(tensor<2xf32>, tensor<1xi32>) -> tensor<1xf32>",
       "INVALID_ARGUMENT: f:3:6: stablehlo.torch_index_select: attributes, got no 'batch_dims', "
       "expected one"},
      {"%0 = \"stablehlo.dot\"(%a, %a) {dim = 0 : i64} : (tensor<2xf32>, tensor<2xf32>) -> "
       "tensor<f32>",
       "INVALID_ARGUMENT: f:2:37: stablehlo.dot: attributes, got 'dim', expected none of that "
       "name"},
      {"%0 = \"stablehlo.unary_einsum\"(%a) {einsum_config = \"a->a\", precision_config = []} : "
       "(tensor<2xf32>) -> tensor<2xf32>",
       "INVALID_ARGUMENT: f:2:79: stablehlo.unary_einsum: attributes, got 'precision_config'"},
  };
  expect_errors(rows);
}

}  // namespace
}  // namespace systole::hlo
