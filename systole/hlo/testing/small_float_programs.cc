#include "systole/hlo/testing/small_float_programs.h"

#include <fmt/format.h>

#include <string_view>

namespace systole::hlo::testing {
namespace {

struct Row {
  std::string_view name;
  std::string_view results;  // types of %r, or of %r0, %r1...
  std::string_view body;
  std::string_view functions = {};
};

// Programs as templates. For each dtype, $T becomes its name, $I the integer type with as many
// bits, and $C the number of its codes (256 or 16). Parameters: %a and %b of type $Cx$T, %s of type
// 8x$T.
constexpr Row kRows[] = {
    {"arithmetic", "tensor<$Cx$T>", R"(
  %0 = stablehlo.add %a, %b : tensor<$Cx$T>
  %1 = stablehlo.multiply %0, %b : tensor<$Cx$T>
  %2 = stablehlo.divide %1, %a : tensor<$Cx$T>
  %r = stablehlo.negate %2 : tensor<$Cx$T>)"},
    {"picks", "tensor<$Cx$T>", R"(
  %0 = stablehlo.compare LT, %a, %b : (tensor<$Cx$T>, tensor<$Cx$T>) -> tensor<$Cxi1>
  %1 = stablehlo.select %0, %a, %b : tensor<$Cxi1>, tensor<$Cx$T>
  %2 = stablehlo.maximum %1, %b : tensor<$Cx$T>
  %3 = stablehlo.abs %2 : tensor<$Cx$T>
  %r = stablehlo.clamp %b, %3, %a : tensor<$Cx$T>)"},
    {"sort_by_a_captured_number", "tensor<8x$T>", R"(
  %c = stablehlo.constant dense<1.0> : tensor<$T>
  %r = "stablehlo.sort"(%s) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<$T>, %y: tensor<$T>):
    %0 = stablehlo.maximum %x, %c : tensor<$T>
    %1 = stablehlo.maximum %y, %c : tensor<$T>
    %2 = stablehlo.compare LT, %0, %1 : (tensor<$T>, tensor<$T>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  }) : (tensor<8x$T>) -> tensor<8x$T>)"},
    {"to_f32", "tensor<$Cxf32>", "%r = stablehlo.convert %a : (tensor<$Cx$T>) -> tensor<$Cxf32>"},
    {"to_bf16", "tensor<$Cxbf16>",
     "%r = stablehlo.convert %a : (tensor<$Cx$T>) -> tensor<$Cxbf16>"},
    {"to_f64", "tensor<$Cxf64>", "%r = stablehlo.convert %a : (tensor<$Cx$T>) -> tensor<$Cxf64>"},
    {"to_i32", "tensor<$Cxi32>", "%r = stablehlo.convert %a : (tensor<$Cx$T>) -> tensor<$Cxi32>"},
    {"to_i1", "tensor<$Cxi1>", "%r = stablehlo.convert %a : (tensor<$Cx$T>) -> tensor<$Cxi1>"},
    {"of_f32", "tensor<$Cx$T>", R"(
  %0 = stablehlo.convert %a : (tensor<$Cx$T>) -> tensor<$Cxf32>
  %c = stablehlo.constant dense<1.1> : tensor<$Cxf32>
  %1 = stablehlo.multiply %0, %c : tensor<$Cxf32>
  %r = stablehlo.convert %1 : (tensor<$Cxf32>) -> tensor<$Cx$T>)"},
    {"of_integers", "tensor<300x$T>", R"(
  %0 = stablehlo.iota dim = 0 : tensor<300xi32>
  %r = stablehlo.convert %0 : (tensor<300xi32>) -> tensor<300x$T>)"},
    {"between_types", "tensor<$Cx$T>", R"(
  %0 = stablehlo.convert %a : (tensor<$Cx$T>) -> tensor<$Cxf8E4M3FN>
  %1 = stablehlo.convert %0 : (tensor<$Cxf8E4M3FN>) -> tensor<$Cxf8E5M2>
  %r = stablehlo.convert %1 : (tensor<$Cxf8E5M2>) -> tensor<$Cx$T>)"},
    {"bits", "tensor<$Cx$T>", R"(
  %0 = stablehlo.bitcast_convert %a : (tensor<$Cx$T>) -> tensor<$Cx$I>
  %c = stablehlo.constant dense<1> : tensor<$Cx$I>
  %1 = stablehlo.xor %0, %c : tensor<$Cx$I>
  %r = stablehlo.bitcast_convert %1 : (tensor<$Cx$I>) -> tensor<$Cx$T>)"},
    {"constants", "tensor<3x$T>", R"(
  %0 = stablehlo.constant dense<[1.0, 0.5, 2.0]> : tensor<3x$T>
  %1 = stablehlo.iota dim = 0 : tensor<3x$T>
  %r = stablehlo.add %0, %1 : tensor<3x$T>)"},
    {"movement", "tensor<4x4x$T>", R"(
  %0 = stablehlo.reshape %s : (tensor<8x$T>) -> tensor<2x4x$T>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<2x4x$T>) -> tensor<4x2x$T>
  %2 = stablehlo.reverse %1, dims = [0] : tensor<4x2x$T>
  %3 = stablehlo.concatenate %1, %2, dim = 1 : (tensor<4x2x$T>, tensor<4x2x$T>) -> tensor<4x4x$T>
  %4 = stablehlo.slice %3 [0:4:2, 1:4] : (tensor<4x4x$T>) -> tensor<2x3x$T>
  %c = stablehlo.constant dense<1.0> : tensor<$T>
  %5 = stablehlo.pad %4, %c, low = [0, 1], high = [1, 0], interior = [1, 0] : (tensor<2x3x$T>, tensor<$T>) -> tensor<4x4x$T>
  %i = stablehlo.constant dense<[3, 1, 0, 1]> : tensor<4xi32>
  %r = "stablehlo.gather"(%5, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<4x4x$T>, tensor<4xi32>) -> tensor<4x4x$T>)"},
    {"sum", "tensor<$T>", R"(
  %c = stablehlo.constant dense<1.0> : tensor<$T>
  %r = stablehlo.reduce(%s init: %c) applies stablehlo.add across dimensions = [0] : (tensor<8x$T>, tensor<$T>) -> tensor<$T>)"},
    {"region", "tensor<8x$T>", R"(
  %r = "stablehlo.map"(%s) <{dimensions = array<i64: 0>}> ({
    ^bb0(%x: tensor<$T>):
      %0 = stablehlo.convert %x : (tensor<$T>) -> tensor<f32>
      %c = stablehlo.constant dense<1.3> : tensor<f32>
      %1 = stablehlo.multiply %0, %c : tensor<f32>
      %2 = stablehlo.convert %1 : (tensor<f32>) -> tensor<$T>
      %d = stablehlo.constant dense<2.0> : tensor<$T>
      %3 = stablehlo.multiply %2, %d : tensor<$T>
      stablehlo.return %3 : tensor<$T>
  }) : (tensor<8x$T>) -> tensor<8x$T>)"},
    {"windows", "tensor<4x$T>", R"(
  %c = stablehlo.constant dense<0.5> : tensor<$T>
  %r = "stablehlo.reduce_window"(%s, %c) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
    ^bb0(%x: tensor<$T>, %y: tensor<$T>):
      %0 = stablehlo.maximum %x, %y : tensor<$T>
      stablehlo.return %0 : tensor<$T>
  }) : (tensor<8x$T>, tensor<$T>) -> tensor<4x$T>)"},
    {"scatter", "tensor<8x$T>", R"(
  %i = stablehlo.constant dense<[[5], [0], [5]]> : tensor<3x1xi32>
  %u = stablehlo.constant dense<[1.0, 2.0, 0.5]> : tensor<3x$T>
  %r = "stablehlo.scatter"(%s, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%x: tensor<$T>, %y: tensor<$T>):
      %0 = stablehlo.add %x, %y : tensor<$T>
      stablehlo.return %0 : tensor<$T>
  }) : (tensor<8x$T>, tensor<3x1xi32>, tensor<3x$T>) -> tensor<8x$T>)"},
    {"sort", "tensor<$Cx$T>", R"(
  %0 = stablehlo.iota dim = 0 : tensor<$Cxi32>
  %r, %1 = "stablehlo.sort"(%b, %0) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%x: tensor<$T>, %y: tensor<$T>, %i: tensor<i32>, %j: tensor<i32>):
      %2 = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<$T>, tensor<$T>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
  }) : (tensor<$Cx$T>, tensor<$Cxi32>) -> (tensor<$Cx$T>, tensor<$Cxi32>))"},
    {"loop", "tensor<8x$T>", R"(
  %z = stablehlo.constant dense<0> : tensor<i32>
  %r, %n = stablehlo.while(%x = %s, %i = %z) : tensor<8x$T>, tensor<i32>
    cond {
      %three = stablehlo.constant dense<3> : tensor<i32>
      %0 = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %0 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %0 = stablehlo.add %x, %s : tensor<8x$T>
      %1 = stablehlo.add %i, %one : tensor<i32>
      %2 = func.call @half(%0) : (tensor<8x$T>) -> tensor<8x$T>
      stablehlo.return %2, %1 : tensor<8x$T>, tensor<i32>
    })",
     R"(func.func private @half(%x: tensor<8x$T>) -> tensor<8x$T> {
  %c = stablehlo.constant dense<0.5> : tensor<8x$T>
  %0 = stablehlo.multiply %x, %c : tensor<8x$T>
  return %0 : tensor<8x$T>
})"},
    {"branch", "tensor<8x$T>", R"(
  %0 = stablehlo.slice %s [0:1] : (tensor<8x$T>) -> tensor<1x$T>
  %1 = stablehlo.reshape %0 : (tensor<1x$T>) -> tensor<$T>
  %2 = stablehlo.compare GT, %1, %1 : (tensor<$T>, tensor<$T>) -> tensor<i1>
  %r = "stablehlo.if"(%2) ({
    stablehlo.return %s : tensor<8x$T>
  }, {
    %3 = stablehlo.sqrt %s : tensor<8x$T>
    stablehlo.return %3 : tensor<8x$T>
  }) : (tensor<i1>) -> tensor<8x$T>)"},
    {"dot", "tensor<2x2x$T>", R"(
  %0 = stablehlo.reshape %s : (tensor<8x$T>) -> tensor<2x4x$T>
  %r = stablehlo.dot_general %0, %0, contracting_dims = [1] x [1] : (tensor<2x4x$T>, tensor<2x4x$T>) -> tensor<2x2x$T>)"},
    {"dot_to_f32", "tensor<2x2xf32>", R"(
  %0 = stablehlo.reshape %s : (tensor<8x$T>) -> tensor<2x4x$T>
  %r = stablehlo.dot_general %0, %0, contracting_dims = [1] x [1] : (tensor<2x4x$T>, tensor<2x4x$T>) -> tensor<2x2xf32>)"},
    {"dot_of_two_types", "tensor<bf16>", R"(
  %0 = stablehlo.convert %s : (tensor<8x$T>) -> tensor<8xbf16>
  %r = stablehlo.dot_general %s, %0, contracting_dims = [0] x [0] : (tensor<8x$T>, tensor<8xbf16>) -> tensor<bf16>)"},
    {"convolution", "tensor<1x6x1x$T>", R"(
  %0 = stablehlo.reshape %s : (tensor<8x$T>) -> tensor<1x8x1x$T>
  %k = stablehlo.constant dense<[[[1.0]], [[2.0]], [[0.5]]]> : tensor<3x1x1x$T>
  %r = stablehlo.convolution(%0, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x1x$T>, tensor<3x1x1x$T>) -> tensor<1x6x1x$T>)"},
};

std::string replaced(std::string_view text, DType dtype, int64_t codes) {
  const DTypeInfo& info = dtype_info(dtype);
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') {
      result += text[i];
      continue;
    }
    const char name = text[++i];
    result += name == 'C'   ? std::to_string(codes)
              : name == 'T' ? std::string(info.mlir_name)
                            : fmt::format("ui{}", info.bits);
  }
  return result;
}

// Codes k * step of the type.
Tensor all_codes(DType dtype, int64_t count, int64_t step) {
  Tensor result(dtype, {count});
  auto* codes = static_cast<uint8_t*>(result.raw());
  for (int64_t i = 0; i < count; ++i) codes[i] = static_cast<uint8_t>(i * step % count);
  // As f32, the least of E8M0 is subnormal, which backends may take for zero.
  if (dtype == DType::f8e8m0fnu) {
    for (int64_t i = 0; i < count; ++i) codes[i] = static_cast<uint8_t>(100 + codes[i] % 56);
  }
  return result;
}

}  // namespace

std::vector<DType> small_float_dtypes() {
  std::vector<DType> result;
  for (int i = 0; i < kNumDTypes; ++i) {
    if (is_small_float(static_cast<DType>(i))) result.push_back(static_cast<DType>(i));
  }
  return result;
}

std::vector<SmallFloatProgram> small_float_programs(DType dtype) {
  const int64_t count = int64_t{1} << dtype_info(dtype).bits;
  const Tensor a = all_codes(dtype, count, 1);
  const Tensor b = all_codes(dtype, count, 7);
  const Tensor s = Tensor::of<float>({8}, {1, 2, 0.5, 4, 1, 0.5, 2, 1}).cast(dtype);
  std::vector<SmallFloatProgram> programs;
  for (const Row& row : kRows) {
    const std::string text = fmt::format(
        "{}\nfunc.func @main(%a: tensor<$Cx$T>, %b: tensor<$Cx$T>, %s: tensor<8x$T>) -> {} {{\n"
        "{}\n  return %r : {}\n}}\n",
        row.functions, row.results, row.body, row.results);
    programs.push_back(
        {fmt::format("{} of {}", row.name, dtype), replaced(text, dtype, count), {a, b, s}});
  }
  return programs;
}

}  // namespace systole::hlo::testing
