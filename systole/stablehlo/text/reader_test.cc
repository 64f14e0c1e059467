// Pretty forms, and whatever else a text may hold, are read as what their generic forms say.
#include <gtest/gtest.h>

#include "systole/hlo/semantics/verifier.h"
#include "systole/stablehlo/text/text.h"

namespace systole::hlo {
namespace {

struct Form {
  std::string name;
  std::string parameters;  // of the function that `text` stands in
  std::string text;
  std::string generic;  // the ops as they are printed
};
std::ostream& operator<<(std::ostream& out, const Form& row) { return out << row.name; }

std::string function_of(const Form& form) {
  return "func.func @main(" + form.parameters + ") {\n" + form.text + "\nreturn\n}\n";
}

// The ops of @main, without its return.
std::string generic_ops(const Module& module) {
  std::string text = print(module.entry());
  text.erase(0, text.find("{\n") + 2);
  return text.substr(0, text.rfind("  \"func.return\"() : () -> ()"));
}

class TextForm : public ::testing::TestWithParam<Form> {};

TEST_P(TextForm, IsRead) {
  const std::unique_ptr<Module> module = parse(function_of(GetParam()));
  verify(*module);
  EXPECT_EQ(generic_ops(*module), GetParam().generic);
  // In either form it reads back as itself.
  for (const bool pretty : {false, true}) {
    const std::string text = print(*module, {.pretty = pretty});
    EXPECT_EQ(print(*parse(text), {.pretty = pretty}), text);
    EXPECT_EQ(generic_ops(*parse(text)), GetParam().generic);
  }
}

const std::string kX = "%arg0: tensor<2x4xf32>";
const std::string kXy = "%arg0: tensor<2x4xf32>, %arg1: tensor<4x8xf32>";
const std::string kImages = "%arg0: tensor<1x4x4x2xf32>, %arg1: tensor<3x3x2x5xf32>";

const Form kForms[] = {
    {"unary", kX, "%0 = stablehlo.abs %arg0 : tensor<2x4xf32>",
     "  %0 = \"stablehlo.abs\"(%arg0) : (tensor<2x4xf32>) -> tensor<2x4xf32>\n"},
    {"unary_with_types", kX, "%0 = stablehlo.abs %arg0 : (tensor<2x4xf32>) -> tensor<2x4xf32>",
     "  %0 = \"stablehlo.abs\"(%arg0) : (tensor<2x4xf32>) -> tensor<2x4xf32>\n"},
    {"convert", kX, "%0 = stablehlo.convert %arg0 : (tensor<2x4xf32>) -> tensor<2x4xi8>",
     "  %0 = \"stablehlo.convert\"(%arg0) : (tensor<2x4xf32>) -> tensor<2x4xi8>\n"},
    {"compare", kX,
     "%0 = stablehlo.compare  LT, %arg0, %arg0,  FLOAT : (tensor<2x4xf32>, tensor<2x4xf32>) -> "
     "tensor<2x4xi1>",
     "  %0 = \"stablehlo.compare\"(%arg0, %arg0) {comparison_direction = "
     "#stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type FLOAT>} : "
     "(tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xi1>\n"},
    {"select", "%arg0: tensor<i1>, %arg1: tensor<2xf32>",
     "%0 = stablehlo.select %arg0, %arg1, %arg1 : tensor<i1>, tensor<2xf32>",
     "  %0 = \"stablehlo.select\"(%arg0, %arg1, %arg1) : (tensor<i1>, tensor<2xf32>, "
     "tensor<2xf32>) "
     "-> tensor<2xf32>\n"},
    {"complex", "%arg0: tensor<2xf64>",
     "%0 = stablehlo.complex %arg0, %arg0 : tensor<2xcomplex<f64>>",
     "  %0 = \"stablehlo.complex\"(%arg0, %arg0) : (tensor<2xf64>, tensor<2xf64>) -> "
     "tensor<2xcomplex<f64>>\n"},
    {"reduce_precision", kX,
     "%0 = stablehlo.reduce_precision %arg0, format = e5m10 : tensor<2x4xf32>",
     "  %0 = \"stablehlo.reduce_precision\"(%arg0) {exponent_bits = 5 : i32, mantissa_bits = 10 : "
     "i32} : (tensor<2x4xf32>) -> tensor<2x4xf32>\n"},
    {"constant", "", "%0 = stablehlo.constant {a.b = 1 : i32} dense<[1, -2]> : tensor<2xi8>",
     "  %0 = \"stablehlo.constant\"() {value = dense<[1, -2]> : tensor<2xi8>} : () -> "
     "tensor<2xi8>\n"},
    {"constant_without_quotes", "",
     "%0 = stablehlo.constant() <{value = dense<3> : tensor<2xui8>}> : () -> tensor<2xui8>",
     "  %0 = \"stablehlo.constant\"() {value = dense<3> : tensor<2xui8>} : () -> tensor<2xui8>\n"},
    {"iota", "", "%0 = stablehlo.iota dim = 1 : tensor<2x3xi32>",
     "  %0 = \"stablehlo.iota\"() {iota_dimension = 1 : i64} : () -> tensor<2x3xi32>\n"},
    {"slice", kX, "%0 = stablehlo.slice %arg0 [0:2, 1:4:3] : (tensor<2x4xf32>) -> tensor<2x1xf32>",
     "  %0 = \"stablehlo.slice\"(%arg0) {start_indices = array<i64: 0, 1>, limit_indices = "
     "array<i64: 2, 4>, strides = array<i64: 1, 3>} : (tensor<2x4xf32>) -> tensor<2x1xf32>\n"},
    {"slice_of_scalar", "%arg0: tensor<f32>",
     "%0 = stablehlo.slice %arg0 [] : (tensor<f32>) -> tensor<f32>",
     "  %0 = \"stablehlo.slice\"(%arg0) {start_indices = array<i64>, limit_indices = array<i64>, "
     "strides = array<i64>} : (tensor<f32>) -> tensor<f32>\n"},
    {"dynamic_slice", kX + ", %arg1: tensor<i32>",
     "%0 = stablehlo.dynamic_slice %arg0, %arg1, %arg1, sizes = [1, 2] : (tensor<2x4xf32>, "
     "tensor<i32>, tensor<i32>) -> tensor<1x2xf32>",
     "  %0 = \"stablehlo.dynamic_slice\"(%arg0, %arg1, %arg1) {slice_sizes = array<i64: 1, 2>} : "
     "(tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>\n"},
    {"pad", kX + ", %arg1: tensor<f32>",
     "%0 = stablehlo.pad %arg0, %arg1, low = [0, -1], high = [0, 2], interior = [0, 0] : "
     "(tensor<2x4xf32>, tensor<f32>) -> tensor<2x5xf32>",
     "  %0 = \"stablehlo.pad\"(%arg0, %arg1) {edge_padding_low = array<i64: 0, -1>, "
     "edge_padding_high = array<i64: 0, 2>, interior_padding = array<i64: 0, 0>} : "
     "(tensor<2x4xf32>, tensor<f32>) -> tensor<2x5xf32>\n"},
    {"dot_general", kXy,
     "%0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<2x4xf32>, "
     "tensor<4x8xf32>) -> tensor<2x8xf32>",
     "  %0 = \"stablehlo.dot_general\"(%arg0, %arg1) {dot_dimension_numbers = "
     "#stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : "
     "(tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>\n"},
    {"dot_general_with_all", "%arg0: tensor<3x2xf32>",
     "%0 = stablehlo.dot_general %arg0, %arg0, batching_dims = [0] x [0], contracting_dims = [1] x "
     "[1], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = f32, "
     "rhs_precision_type "
     "= "
     "f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, "
     "num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<3x2xf32>, "
     "tensor<3x2xf32>) -> tensor<3xf32>",
     "  %0 = \"stablehlo.dot_general\"(%arg0, %arg0) {dot_dimension_numbers = "
     "#stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], "
     "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>, precision_config = "
     "[#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>], algorithm = "
     "#stablehlo.dot_algorithm<lhs_precision_type = f32, rhs_precision_type = f32, "
     "accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, "
     "num_primitive_operations = 1, allow_imprecise_accumulation = false>} : (tensor<3x2xf32>, "
     "tensor<3x2xf32>) -> tensor<3xf32>\n"},
    {"convolution", kImages,
     "%0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, "
     "f], window = {pad = [[1, 1], [0, 0]], stride = [2, 1], reverse = [true, false]} "
     "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x2xf32>, "
     "tensor<3x3x2x5xf32>) -> tensor<1x2x2x5xf32>",
     "  %0 = \"stablehlo.convolution\"(%arg0, %arg1) {dimension_numbers = #stablehlo.conv<[b, 0, "
     "1, "
     "f]x[0, 1, i, o]->[b, 0, 1, f]>, window_strides = array<i64: 2, 1>, padding = dense<[[1, 1], "
     "[0, 0]]> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, "
     "1>, "
     "window_reversal = array<i1: true, false>, feature_group_count = 1 : i64, batch_group_count = "
     "1 : i64} : (tensor<1x4x4x2xf32>, tensor<3x3x2x5xf32>) -> tensor<1x2x2x5xf32>\n"},
    {"convolution_with_empty_window", kImages,
     "%0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, "
     "f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : "
     "(tensor<1x4x4x2xf32>, tensor<3x3x2x5xf32>) -> tensor<1x2x2x5xf32>",
     "  %0 = \"stablehlo.convolution\"(%arg0, %arg1) {dimension_numbers = #stablehlo.conv<[b, 0, "
     "1, "
     "f]x[0, 1, i, o]->[b, 0, 1, f]>, window_strides = array<i64: 1, 1>, padding = dense<0> : "
     "tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, "
     "window_reversal = array<i1: false, false>, feature_group_count = 1 : i64, batch_group_count "
     "= "
     "1 : i64} : (tensor<1x4x4x2xf32>, tensor<3x3x2x5xf32>) -> tensor<1x2x2x5xf32>\n"},
    {"fft", "%arg0: tensor<4xcomplex<f32>>",
     "%0 = stablehlo.fft %arg0, type = IFFT, length = [4] : (tensor<4xcomplex<f32>>) -> "
     "tensor<4xcomplex<f32>>",
     "  %0 = \"stablehlo.fft\"(%arg0) {fft_type = #stablehlo<fft_type IFFT>, fft_length = "
     "array<i64: "
     "4>} : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>\n"},
    {"cholesky", "%arg0: tensor<2x2xf32>",
     "%0 = stablehlo.cholesky %arg0, lower = true : tensor<2x2xf32>\n"
     "%1 = stablehlo.cholesky %0 : tensor<2x2xf32>",
     "  %0 = \"stablehlo.cholesky\"(%arg0) {lower = true} : (tensor<2x2xf32>) -> tensor<2x2xf32>\n"
     "  %1 = \"stablehlo.cholesky\"(%0) : (tensor<2x2xf32>) -> tensor<2x2xf32>\n"},
    {"rng_bit_generator", "%arg0: tensor<2xui64>",
     "%state, %bits = stablehlo.rng_bit_generator %arg0, algorithm =  THREE_FRY : (tensor<2xui64>) "
     "-> (tensor<2xui64>, tensor<3xui32>)\n%2 = stablehlo.popcnt %bits : tensor<3xui32>",
     "  %0:2 = \"stablehlo.rng_bit_generator\"(%arg0) {rng_algorithm = #stablehlo<rng_algorithm "
     "THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui32>)\n"
     "  %1 = \"stablehlo.popcnt\"(%0#1) : (tensor<3xui32>) -> tensor<3xui32>\n"},
    {"barrier", kXy,
     "%0:2 = stablehlo.optimization_barrier %arg0, %arg1 : tensor<2x4xf32>, tensor<4x8xf32>\n"
     "stablehlo.optimization_barrier()",
     "  %0:2 = \"stablehlo.optimization_barrier\"(%arg0, %arg1) : (tensor<2x4xf32>, "
     "tensor<4x8xf32>) -> (tensor<2x4xf32>, tensor<4x8xf32>)\n"
     "  \"stablehlo.optimization_barrier\"() : () -> ()\n"},
    {"tokens", "%arg0: !stablehlo.token",
     "%0 = stablehlo.after_all : !stablehlo.token\n"
     "%1 = stablehlo.after_all %arg0, %0 : !stablehlo.token\n"
     "%2 = stablehlo.create_token : !stablehlo.token",
     "  %0 = \"stablehlo.after_all\"() : () -> !stablehlo.token\n"
     "  %1 = \"stablehlo.after_all\"(%arg0, %0) : (!stablehlo.token, !stablehlo.token) -> "
     "!stablehlo.token\n"
     "  %2 = \"stablehlo.after_all\"() : () -> !stablehlo.token\n"},
    {"custom_call", kX,
     "%0 = stablehlo.custom_call @\"a-b\"(%arg0) {api_version = 4 : i32, backend_config = {a = [1, "
     "\"b\"], c}, k = "
     "#m} : "
     "(tensor<2x4xf32>) -> tensor<2x4xf32>\nreturn\n}\n#m =  #x.y< a ,b > // here\nfunc.func "
     "private @f() {",
     "  %0 = \"stablehlo.custom_call\"(%arg0) {call_target_name = \"a-b\", backend_config = {a = "
     "[1, "
     "\"b\"], c}, api_version = 4 : i32, k = #x.y< a ,b >} : (tensor<2x4xf32>) -> "
     "tensor<2x4xf32>\n"},
    {"reduce_applies", kX + ", %arg1: tensor<f32>",
     "%0 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.maximum across dimensions = [1] : "
     "(tensor<2x4xf32>, tensor<f32>) -> tensor<2xf32>",
     "  %0 = \"stablehlo.reduce\"(%arg0, %arg1) ({\n"
     "  ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):\n"
     "    %1 = \"stablehlo.maximum\"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>\n"
     "    \"stablehlo.return\"(%1) : (tensor<f32>) -> ()\n"
     "  }) {dimensions = array<i64: 1>} : (tensor<2x4xf32>, tensor<f32>) -> tensor<2xf32>\n"},
    {"reduce_with_reducer",
     "%arg0: tensor<4xf32>, %arg1: tensor<4xi32>, %arg2: tensor<f32>, "
     "%arg3: tensor<i32>",
     "%0:2 = stablehlo.reduce(%arg0 init: %arg2), (%arg1 init: %arg3) across dimensions = [0] : "
     "(tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)\n"
     " reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>)  {\n"
     "  %1 = stablehlo.add %i, %j : tensor<i32>\n"
     "  stablehlo.return %b, %1 : tensor<f32>, tensor<i32>\n}",
     "  %0:2 = \"stablehlo.reduce\"(%arg0, %arg1, %arg2, %arg3) ({\n"
     "  ^bb0(%arg4: tensor<f32>, %arg5: tensor<i32>, %arg6: tensor<f32>, %arg7: tensor<i32>):\n"
     "    %1 = \"stablehlo.add\"(%arg5, %arg7) : (tensor<i32>, tensor<i32>) -> tensor<i32>\n"
     "    \"stablehlo.return\"(%arg6, %1) : (tensor<f32>, tensor<i32>) -> ()\n"
     "  }) {dimensions = array<i64: 0>} : (tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<i32>) "
     "-> (tensor<f32>, tensor<i32>)\n"},
    {"while", "%arg0: tensor<i32>, %arg1: tensor<2xf32>",
     "%0:2 = stablehlo.while(%i = %arg0, %x = %arg1) : tensor<i32>, tensor<2xf32> attributes "
     "{a.b}\n"
     " cond {\n  %1 = stablehlo.compare NE, %i, %arg0 : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
     "  stablehlo.return %1 : tensor<i1>\n} do {\n"
     "  stablehlo.return %i, %x : tensor<i32>, tensor<2xf32>\n}",
     "  %0:2 = \"stablehlo.while\"(%arg0, %arg1) ({\n"
     "  ^bb0(%arg2: tensor<i32>, %arg3: tensor<2xf32>):\n"
     "    %1 = \"stablehlo.compare\"(%arg2, %arg0) {comparison_direction = "
     "#stablehlo<comparison_direction NE>} : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
     "    \"stablehlo.return\"(%1) : (tensor<i1>) -> ()\n  }, {\n"
     "  ^bb0(%arg4: tensor<i32>, %arg5: tensor<2xf32>):\n"
     "    \"stablehlo.return\"(%arg4, %arg5) : (tensor<i32>, tensor<2xf32>) -> ()\n"
     "  }) : (tensor<i32>, tensor<2xf32>) -> (tensor<i32>, tensor<2xf32>)\n"},
    {"attribute_alias", kX,
     "%0 = \"stablehlo.compare\"(%arg0, %arg0) <{comparison_direction = #lt}> : (!x, !x) -> "
     "tensor<2x4xi1>\nreturn\n}\n#lt = #stablehlo<comparison_direction LT>\n!x = "
     "tensor<2x4xf32>\nfunc.func "
     "private @f() {",
     "  %0 = \"stablehlo.compare\"(%arg0, %arg0) {comparison_direction = "
     "#stablehlo<comparison_direction LT>} : (tensor<2x4xf32>, tensor<2x4xf32>) -> "
     "tensor<2x4xi1>\n"},
    {"packed_bits", "",
     "%0 = stablehlo.constant dense<\"0x0181\"> : tensor<16xi1>\n"
     "%1 = stablehlo.constant dense<\"0x00010001\"> : tensor<4xi1>",
     "  %0 = \"stablehlo.constant\"() {value = dense<[true, false, false, false, false, false, "
     "false, "
     "false, true, false, false, false, false, false, false, true]> : tensor<16xi1>} : () -> "
     "tensor<16xi1>\n"
     "  %1 = \"stablehlo.constant\"() {value = dense<[false, true, false, true]> : tensor<4xi1>} : "
     "() "
     "-> tensor<4xi1>\n"},
};

INSTANTIATE_TEST_SUITE_P(Text, TextForm, ::testing::ValuesIn(kForms),
                         [](const auto& info) { return info.param.name; });

constexpr std::string_view kSigned = R"(module @m attributes {a.list = [1 : i32, "x"], b.unit} {
  func.func private @main(%arg0: tensor<f32> {tf.aliasing_output = 0 : i32, x.y = "z"}) -> (tensor<f32> {jax.result_info = "r"}) attributes {inline = "no"} {
    return %arg0 : tensor<f32>
  }
  func.func public @f() {
    return
  }
  func.func private @g() {
    return
  }
}
)";

TEST(TextModule, AttributesAndVisibilityAreKept) {
  const std::unique_ptr<Module> module = parse(kSigned);
  EXPECT_EQ(module->attributes.at("a.list"), "[1 : i32, \"x\"]");
  EXPECT_EQ(module->entry().attributes().parameters.at(0).at("x.y"), "\"z\"");
  EXPECT_EQ(module->aliases, (std::vector<Module::Alias>{{0, 0}}));
  EXPECT_EQ(print(*module, {.pretty = true}), kSigned);
  EXPECT_EQ(print(*module->clone(), {.pretty = true}), kSigned);
}

TEST(TextModule, GenericModulesAndFunctionsAreRead) {
  const std::unique_ptr<Module> module = parse(R"("builtin.module"() <{sym_name = "m"}> ({
  "func.func"() <{arg_attrs = [{tf.aliasing_output = 0 : i32, x.y = "z"}], function_type = (tensor<f32>) -> tensor<f32>, res_attrs = [{jax.result_info = "r"}], sym_name = "main", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<f32>):
    "func.return"(%arg0) : (tensor<f32>) -> ()
  }) {inline = "no"} : () -> ()
  "func.func"() ({
    "func.return"() : () -> ()
  }) {function_type = () -> (), sym_name = "f"} : () -> ()
  "func.func"() <{function_type = () -> (), sym_name = "g", sym_visibility = "private"}> ({
  ^bb0:
    "func.return"() : () -> ()
  }) : () -> ()
}) {a.list = [1 : i32, "x"], b.unit} : () -> () loc(#loc)
#loc = loc(unknown)
)");
  EXPECT_EQ(print(*module, {.pretty = true}), kSigned);
}

TEST(TextModule, ErasedParametersTakeTheirAttributesWithThem) {
  const std::unique_ptr<Module> module = parse(R"(
    func.func @main(%a: tensor<1xf32> {a.n = 0}, %b: tensor<2xf32> {a.n = 1}, %c: tensor<3xf32>, %d: tensor<4xf32> {a.n = 3}) {
      return
    })");
  module->entry().erase_parameter(1);
  const auto& kept = module->entry().attributes().parameters;
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(kept.at(0).at("a.n"), "0");
  EXPECT_EQ(kept.at(2).at("a.n"), "3");
}

TEST(TextModule, LocationsAreFollowed) {
  const std::unique_ptr<Module> module = parse(R"(
#loc1 = loc("f.py":1:2)
module {
  func.func @main(%a: tensor<f32> loc("a")) -> tensor<f32> {
    %0 = stablehlo.abs %a : tensor<f32> loc(#loc4)
    %1 = stablehlo.negate %0 : tensor<f32> loc(callsite("x" at "y"))
    return %1 : tensor<f32> loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc = loc(unknown)
#loc3 = loc("jit(f)/abs"(#loc1))
#loc4 = loc(#loc3)
)");
  const auto program = module->entry().instructions();
  EXPECT_EQ(program[0]->metadata().name, "a");
  EXPECT_EQ(program[1]->metadata().name, "jit(f)/abs");
  EXPECT_EQ(program[2]->metadata().name, "");
}

// What a short text can make of itself is bounded.
TEST(TextModule, AliasesOfAliasesAreBounded) {
  std::string attributes = "#a0 = 1\n";
  std::string types = "!t0 = tensor<f32>\n";
  for (int i = 1; i < 30; ++i) {
    attributes += fmt::format("#a{} = [#a{}, #a{}]\n", i, i - 1, i - 1);
    types += fmt::format("!t{} = tuple<!t{}, !t{}>\n", i, i - 1, i - 1);
  }
  const std::string texts[] = {attributes + "module attributes {a = #a29} {}",
                               types + "func.func @main(%a: !t29) { return }",
                               "#a = #b\n#b = #a\nmodule attributes {a = #a} {}",
                               "!a = !a\nfunc.func @main(%a: !a) { return }",
                               "#a = loc(#a)\nfunc.func @main() { return loc(#a) } #b"};
  for (const std::string& text : texts) EXPECT_THROW(parse(text), Error) << text.substr(0, 40);
}

TEST(TextModule, FilesHoldSeveral) {
  const auto modules = parse_all(R"(// A header.

// -----
module @a { func.func @main() { return } }
module @b { func.func @main() { return } }
// ----- a comment
#x = 1
func.func @c() { return }
func.func @d() { return }
)",
                                 "f");
  ASSERT_EQ(modules.size(), 3U);
  EXPECT_EQ(modules[1]->name(), "b");
  EXPECT_EQ(modules[2]->functions().size(), 2U);
  try {
    parse_all("func.func @a() { return }\n// -----\n\nfunc.func @b() { foo }", "f");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("f:4:18: op, got foo"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace systole::hlo
