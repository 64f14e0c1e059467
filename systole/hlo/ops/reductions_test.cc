// reduce, reduce_window, select_and_scatter, sort.
#include "systole/hlo/testing/op_case.h"

namespace systole::hlo::testing {
namespace {

// (value, index) of the larger value, the first of equals: what argmax is made of.
const std::string kArgMax =
    "{^bb0(%a: tensor<f32>, %i: tensor<i32>, %b: tensor<f32>, %j: tensor<i32>): "
    "%c = \"stablehlo.compare\"(%a, %b) {comparison_direction = #stablehlo<comparison_direction "
    "GE>} "
    ": (tensor<f32>, tensor<f32>) -> tensor<i1> "
    "%v = \"stablehlo.select\"(%c, %a, %b) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32> "
    "%k = \"stablehlo.select\"(%c, %i, %j) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32> "
    "\"stablehlo.return\"(%v, %k) : (tensor<f32>, tensor<i32>) -> ()}";

// Compares the first of two inputs, largest first.
const std::string kFirstDescending =
    "{^bb0(%a: tensor<i64>, %b: tensor<i64>, %c: tensor<i64>, %d: tensor<i64>): "
    "%p = \"stablehlo.compare\"(%a, %b) {comparison_direction = #stablehlo<comparison_direction "
    "GT>} "
    ": (tensor<i64>, tensor<i64>) -> tensor<i1> \"stablehlo.return\"(%p) : (tensor<i1>) -> ()}";

// By remainder of 3: no fast path knows it, and it has ties.
const std::string kByRemainder =
    "{^bb0(%a: tensor<i32>, %b: tensor<i32>): "
    "%three = \"stablehlo.constant\"() {value = dense<3> : tensor<i32>} : () -> tensor<i32> "
    "%c = \"stablehlo.remainder\"(%a, %three) : (tensor<i32>, tensor<i32>) -> tensor<i32> "
    "%d = \"stablehlo.remainder\"(%b, %three) : (tensor<i32>, tensor<i32>) -> tensor<i32> "
    "%p = \"stablehlo.compare\"(%c, %d) {comparison_direction = #stablehlo<comparison_direction "
    "LT>} "
    ": (tensor<i32>, tensor<i32>) -> tensor<i1> \"stablehlo.return\"(%p) : (tensor<i1>) -> ()}";

ValueCase reduce(const std::string& name, const std::string& region, const std::string& input,
                 const std::string& init, const std::string& dimensions,
                 const std::string& result) {
  return {name,
          "reduce",
          {input, init},
          "(" + region + ") {dimensions = array<i64" + dimensions + ">}",
          {result}};
}

ValueCase sort(const std::string& name, const std::string& region, const std::string& input,
               const std::string& result) {
  return {
      name, "sort", {input}, "(" + region + ") {dimension = 0 : i64, is_stable = true}", {result}};
}

const std::string kMatrix = "dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>";
const std::string kZero = "dense<0> : tensor<i64>";

const ValueCase kValues[] = {
    reduce("last_axis", reducer("add", "i64"), kMatrix, kZero, ": 1",
           "dense<[6, 15]> : tensor<2xi64>"),
    reduce("first_axis", reducer("add", "i64"), kMatrix, kZero, ": 0",
           "dense<[5, 7, 9]> : tensor<3xi64>"),
    reduce("all_axes", reducer("multiply", "i64"), kMatrix, "dense<2> : tensor<i64>", ": 1, 0",
           "dense<1440> : tensor<i64>"),
    reduce("no_axis", reducer("add", "i64"), kMatrix, "dense<1> : tensor<i64>", "",
           "dense<[[2, 3, 4], [5, 6, 7]]> : tensor<2x3xi64>"),
    reduce("by_region", swapped_reducer("add", "i64"), kMatrix, kZero, ": 1",
           "dense<[6, 15]> : tensor<2xi64>"),
    // (((0 - 1) - 2) - 3): elements in order, the accumulator on the left.
    reduce("in_order", reducer("subtract", "i64"), kMatrix, kZero, ": 1",
           "dense<[-6, -15]> : tensor<2xi64>"),
    reduce("nothing", reducer("add", "f32"), "dense<> : tensor<2x0xf32>",
           "dense<3.0> : tensor<f32>", ": 1", "dense<3.0> : tensor<2xf32>"),
    reduce("wraps", reducer("add", "i8"), "dense<[100, 100]> : tensor<2xi8>",
           "dense<0> : tensor<i8>", ": 0", "dense<-56> : tensor<i8>"),
    reduce("wraps_64", reducer("add", "i64"), "dense<[9223372036854775807, 1]> : tensor<2xi64>",
           kZero, ": 0", "dense<-9223372036854775808> : tensor<i64>"),
    reduce("minimum_unsigned", reducer("minimum", "ui64"),
           "dense<[18446744073709551615, 3]> : tensor<2xui64>",
           "dense<18446744073709551615> : tensor<ui64>", ": 0", "dense<3> : tensor<ui64>"),
    reduce("or_pred", reducer("or", "i1"),
           "dense<[[false, true], [false, false]]> : tensor<2x2xi1>", "dense<false> : tensor<i1>",
           ": 1", "dense<[true, false]> : tensor<2xi1>"),
    reduce("add_pred", reducer("add", "i1"), "dense<[true, true]> : tensor<2xi1>",
           "dense<false> : tensor<i1>", ": 0", "dense<true> : tensor<i1>"),
    reduce("xor", reducer("xor", "ui8"), "dense<[12, 10]> : tensor<2xui8>",
           "dense<1> : tensor<ui8>", ": 0", "dense<7> : tensor<ui8>"),
    reduce("maximum_nan", reducer("maximum", "f32"),
           "dense<[[1.0, 0x7FC00000, 2.0], [-1.0, -3.0, -2.0]]> : tensor<2x3xf32>",
           "dense<0xFF800000> : tensor<f32>", ": 1", "dense<[0x7FC00000, -1.0]> : tensor<2xf32>"),
    reduce("maximum_of_zeros", reducer("maximum", "f32"),
           "dense<[-0.0, 0.0, -0.0]> : tensor<3xf32>", "dense<0xFF800000> : tensor<f32>", ": 0",
           "dense<0.0> : tensor<f32>"),
    reduce("minimum_of_zeros", reducer("minimum", "f64"), "dense<[0.0, -0.0, 0.0]> : tensor<3xf64>",
           "dense<1.0> : tensor<f64>", ": 0", "dense<-0.0> : tensor<f64>"),
    // 256 + 1 is 256 in bf16; summed in f32 and rounded once it is 260.
    reduce("bf16_rounds_once", reducer("add", "bf16"),
           "dense<[256.0, 1.0, 1.0, 1.0, 1.0]> : tensor<5xbf16>", "dense<0.0> : tensor<bf16>",
           ": 0", "dense<260.0> : tensor<bf16>"),
    reduce("bf16_by_region_rounds_each_step", swapped_reducer("add", "bf16"),
           "dense<[256.0, 1.0, 1.0]> : tensor<3xbf16>", "dense<0.0> : tensor<bf16>", ": 0",
           "dense<256.0> : tensor<bf16>"),
    reduce("promotes", reducer("add", "f32"), "dense<[256.0, 1.0]> : tensor<2xbf16>",
           "dense<0.0> : tensor<bf16>", ": 0", "dense<257.0> : tensor<f32>"),
    reduce("complex", reducer("multiply", "complex<f32>"),
           "dense<[(0.0, 1.0), (0.0, 1.0)]> : tensor<2xcomplex<f32>>",
           "dense<(1.0, 0.0)> : tensor<complex<f32>>", ": 0",
           "dense<(-1.0, 0.0)> : tensor<complex<f32>>"),
    {"argmax",
     "reduce",
     {"dense<[[1.0, 7.0, 7.0], [3.0, 2.0, 1.0]]> : tensor<2x3xf32>",
      "dense<[[0, 1, 2], [0, 1, 2]]> : tensor<2x3xi32>", "dense<0xFF800000> : tensor<f32>",
      "dense<-1> : tensor<i32>"},
     "(" + kArgMax + ") {dimensions = array<i64: 1>}",
     {"dense<[7.0, 3.0]> : tensor<2xf32>", "dense<[1, 0]> : tensor<2xi32>"}},

    {"dilated_and_padded",
     "reduce_window",
     {"dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi64>", kZero},
     "(" + reducer("add", "i64") +
         ") {window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 4, 1>, "
         "base_dilations = array<i64: 2, 1>, window_dilations = array<i64: 3, 1>, "
         "padding = dense<[[2, 1], [0, 0]]> : tensor<2x2xi64>}",
     {"dense<[[0, 0], [3, 4]]> : tensor<2x2xi64>"}},
    {"defaults",
     "reduce_window",
     {"dense<[1, 2, 3]> : tensor<3xi64>", kZero},
     "(" + reducer("add", "i64") + ") {window_dimensions = array<i64: 2>}",
     {"dense<[3, 5]> : tensor<2xi64>"}},
    {"max_pool",
     "reduce_window",
     {"dense<[[1, 2, 3, 4], [5, 6, 7, 8], [9, 8, 7, 6], [5, 4, 3, 2]]> : tensor<4x4xi32>",
      "dense<-2147483648> : tensor<i32>"},
     "(" + reducer("maximum", "i32") +
         ") {window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}",
     {"dense<[[6, 8], [9, 7]]> : tensor<2x2xi32>"}},
    {"cumulative_sum",
     "reduce_window",
     {"dense<[1, 2, 3]> : tensor<3xi64>", kZero},
     "(" + reducer("add", "i64") +
         ") {window_dimensions = array<i64: 3>, padding = dense<[[2, 0]]> : tensor<1x2xi64>}",
     {"dense<[1, 3, 6]> : tensor<3xi64>"}},
    {"cumulative_sum_in_reverse",
     "reduce_window",
     {"dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi64>", kZero},
     "(" + reducer("add", "i64") +
         ") {window_dimensions = array<i64: 3, 1>, "
         "padding = dense<[[0, 2], [0, 0]]> : tensor<2x2xi64>}",
     {"dense<[[9, 12], [8, 10], [5, 6]]> : tensor<3x2xi64>"}},
    // Rounded at the end only: 2048 + 1 + 1 in f16.
    {"cumulative_sum_of_halves",
     "reduce_window",
     {"dense<[2048.0, 1.0, 1.0]> : tensor<3xf16>", "dense<0.0> : tensor<f16>"},
     "(" + reducer("add", "f16") +
         ") {window_dimensions = array<i64: 3>, padding = dense<[[2, 0]]> : tensor<1x2xi64>}",
     {"dense<[2048.0, 2048.0, 2050.0]> : tensor<3xf16>"}},
    // Padding that is not neutral counts: 3 * 10 + 1, 2 * 10 + 3, 10 + 6.
    {"cumulative_sum_from_ten",
     "reduce_window",
     {"dense<[1, 2, 3]> : tensor<3xi64>", "dense<10> : tensor<i64>"},
     "(" + reducer("add", "i64") +
         ") {window_dimensions = array<i64: 3>, padding = dense<[[2, 0]]> : tensor<1x2xi64>}",
     {"dense<[31, 23, 16]> : tensor<3xi64>"}},
    {"cumulative_arg_max",
     "reduce_window",
     {"dense<[1.0, 3.0, 2.0, 3.0, 4.0]> : tensor<5xf32>", "dense<[0, 1, 2, 3, 4]> : tensor<5xi32>",
      "dense<0xFF800000> : tensor<f32>", "dense<-1> : tensor<i32>"},
     "(" + kArgMax +
         ") {window_dimensions = array<i64: 5>, padding = dense<[[4, 0]]> : tensor<1x2xi64>}",
     {"dense<[1.0, 3.0, 3.0, 3.0, 4.0]> : tensor<5xf32>",
      "dense<[0, 1, 1, 1, 4]> : tensor<5xi32>"}},
    {"negative_padding",
     "reduce_window",
     {"dense<[1, 2, 3, 4]> : tensor<4xi64>", kZero},
     "(" + reducer("add", "i64") +
         ") {window_dimensions = array<i64: 2>, padding = dense<[[-1, -1]]> : tensor<1x2xi64>}",
     {"dense<[5]> : tensor<1xi64>"}},
    {"nothing_left",
     "reduce_window",
     {"dense<[1, 2]> : tensor<2xi64>", kZero},
     "(" + reducer("add", "i64") +
         ") {window_dimensions = array<i64: 1>, padding = dense<[[-2, -2]]> : tensor<1x2xi64>}",
     {"dense<> : tensor<0xi64>"}},
    // 1 * 10 for the initial value once and the padding twice: 10 * 10 * 1, 10 * 1 * 2, 10 * 2
    // * 10.
    {"padding_is_initial_value",
     "reduce_window",
     {"dense<[1, 2]> : tensor<2xi64>", "dense<10> : tensor<i64>"},
     "(" + reducer("multiply", "i64") +
         ") {window_dimensions = array<i64: 2>, padding = dense<1> : tensor<1x2xi64>}",
     {"dense<[100, 20, 200]> : tensor<3xi64>"}},
    {"variadic",
     "reduce_window",
     {"dense<[1.0, 3.0, 2.0]> : tensor<3xf32>", "dense<[0, 1, 2]> : tensor<3xi32>",
      "dense<0xFF800000> : tensor<f32>", "dense<-1> : tensor<i32>"},
     "(" + kArgMax + ") {window_dimensions = array<i64: 2>}",
     {"dense<[3.0, 3.0]> : tensor<2xf32>", "dense<1> : tensor<2xi32>"}},

    {"max_pool_gradient",
     "select_and_scatter",
     {"dense<[[1, 5], [2, 5], [3, 6], [4, 4]]> : tensor<4x2xi64>",
      "dense<[[5, 6], [7, 8]]> : tensor<2x2xi64>", kZero},
     "(" + comparator("GE", "i64") + ", " + reducer("add", "i64") +
         ") {window_dimensions = array<i64: 3, 1>, window_strides = array<i64: 2, 1>, "
         "padding = dense<[[0, 1], [0, 0]]> : tensor<2x2xi64>}",
     {"dense<[[0, 0], [0, 0], [5, 14], [7, 0]]> : tensor<4x2xi64>"}},
    {"first_of_equals",
     "select_and_scatter",
     {"dense<1.0> : tensor<4xf32>", "dense<[2.0, 3.0]> : tensor<2xf32>",
      "dense<0.5> : tensor<f32>"},
     "(" + comparator("GE", "f32") + ", " + reducer("add", "f32") +
         ") {window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}",
     {"dense<[2.5, 0.5, 3.5, 0.5]> : tensor<4xf32>"}},
    {"window_in_padding",
     "select_and_scatter",
     {"dense<[1, 2]> : tensor<2xi64>", "dense<[7, 8, 9]> : tensor<3xi64>", kZero},
     "(" + comparator("GE", "i64") + ", " + reducer("add", "i64") +
         ") {window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, "
         "padding = dense<[[2, 2]]> : tensor<1x2xi64>}",
     {"dense<[0, 8]> : tensor<2xi64>"}},
    // `select` is a <= b by way of a program, and `scatter` b - a.
    {"by_regions",
     "select_and_scatter",
     {"dense<[3, 1, 2]> : tensor<3xi64>", "dense<[10, 20]> : tensor<2xi64>", kZero},
     "({^bb0(%a: tensor<i64>, %b: tensor<i64>): %c = \"stablehlo.compare\"(%b, %a) "
     "{comparison_direction = #stablehlo<comparison_direction GE>} : (tensor<i64>, tensor<i64>) -> "
     "tensor<i1> \"stablehlo.return\"(%c) : (tensor<i1>) -> ()}, " +
         swapped_reducer("subtract", "i64") + ") {window_dimensions = array<i64: 2>}",
     {"dense<[0, 10, 0]> : tensor<3xi64>"}},

    {"two_inputs",
     "sort",
     {"dense<[[1, 2, 3], [3, 2, 1]]> : tensor<2x3xi64>",
      "dense<[[3, 2, 1], [1, 2, 3]]> : tensor<2x3xi64>"},
     "(" + kFirstDescending + ") {dimension = 0 : i64, is_stable = true}",
     {"dense<[[3, 2, 3], [1, 2, 1]]> : tensor<2x3xi64>",
      "dense<[[1, 2, 1], [3, 2, 3]]> : tensor<2x3xi64>"}},
    {"negative_dimension",
     "sort",
     {"dense<[[3, 1, 2], [6, 5, 4]]> : tensor<2x3xi32>"},
     "(" + comparator("LT", "i32") + ") {dimension = -1 : i64}",
     {"dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>"}},
    {"middle_axis",
     "sort",
     {"dense<[[[3, 1], [2, 9]], [[6, 5], [8, 4]]]> : tensor<2x2x2xi32>"},
     "(" + comparator("LT", "i32") + ") {dimension = 1 : i64}",
     {"dense<[[[2, 1], [3, 9]], [[6, 4], [8, 5]]]> : tensor<2x2x2xi32>"}},
    sort("unsigned", comparator("LT", "ui64"), "dense<[18446744073709551615, 1]> : tensor<2xui64>",
         "dense<[1, 18446744073709551615]> : tensor<2xui64>"),
    sort("bf16", comparator("GT", "bf16"), "dense<[1.0, -2.0, 3.0]> : tensor<3xbf16>",
         "dense<[3.0, 1.0, -2.0]> : tensor<3xbf16>"),
    sort("total_order", comparator("LT", "f32", "TOTALORDER"),
         "dense<[0x7FC00000, 0.0, -0.0, 0xFFC00000, 0xFF800000]> : tensor<5xf32>",
         "dense<[0xFFC00000, 0xFF800000, -0.0, 0.0, 0x7FC00000]> : tensor<5xf32>"),
    sort("stable_by_region", kByRemainder, "dense<[5, 3, 4, 2, 1, 0]> : tensor<6xi32>",
         "dense<[3, 0, 4, 1, 5, 2]> : tensor<6xi32>"),
    sort("huge_and_empty", comparator("LT", "i32"), "dense<> : tensor<1152921504606846976x0xi32>",
         "dense<> : tensor<1152921504606846976x0xi32>"),
    sort("empty", comparator("LT", "i32"), "dense<> : tensor<0xi32>", "dense<> : tensor<0xi32>"),
};

ErrorCase reduce_error(const std::string& name, const std::vector<std::string>& operands,
                       const std::string& region, const std::string& dimensions,
                       const std::string& error) {
  return {name,
          "reduce",
          operands,
          "(" + region + ") {dimensions = array<i64: " + dimensions + ">}",
          {"tensor<2xf32>"},
          error};
}

ErrorCase window_error(const std::string& name, const std::string& attributes,
                       const std::string& error) {
  return {name,
          "reduce_window",
          {"tensor<4x4xf32>", "tensor<f32>"},
          "(" + reducer("add", "f32") + ") {" + attributes + "}",
          {"tensor<3x3xf32>"},
          error};
}

ErrorCase scatter_error(const std::string& name, const std::vector<std::string>& operands,
                        const std::string& attributes, const std::string& error) {
  return {name,
          "select_and_scatter",
          operands,
          "(" + comparator("GE", "f32") + ", " + reducer("add", "f32") + ") {" + attributes + "}",
          {"tensor<4xf32>"},
          error};
}

const std::vector<std::string> kPool = {"tensor<4xf32>", "tensor<2xf32>", "tensor<f32>"};
const std::string kPairs = "window_dimensions = array<i64: 2>, window_strides = array<i64: 2>";

const ErrorCase kErrors[] = {
    {"c1_shapes",
     "reduce",
     {"tensor<2xf32>", "tensor<3xi32>", "tensor<f32>", "tensor<i32>"},
     "(" + kArgMax + ") {dimensions = array<i64: 0>}",
     {"tensor<f32>", "tensor<i32>"},
     "reduce: shape of input 1, got [3], expected [2]"},
    reduce_error("c2_dtype", {"tensor<2x3xf32>", "tensor<f64>"}, reducer("add", "f32"), "1",
                 "reduce: element type of initial value 0, got f64, expected f32"),
    reduce_error("c3_count", {"tensor<2x3xf32>", "tensor<f32>", "tensor<f32>"},
                 reducer("add", "f32"), "1", "reduce: number of operands, got 3"),
    reduce_error("c4_range", {"tensor<2x3xf32>", "tensor<f32>"}, reducer("add", "f32"), "2",
                 "reduce: dimensions, got [2], expected axes in [0, 2)"),
    reduce_error("c5_twice", {"tensor<2x3xf32>", "tensor<f32>"}, reducer("add", "f32"), "1, 1",
                 "reduce: dimensions, got [1, 1], expected no value twice"),
    reduce_error("c6_parameters", {"tensor<2x3xf32>", "tensor<f32>"}, kArgMax, "1",
                 "reduce: parameters of region 0, got 4 values, expected 2"),
    reduce_error("c6_narrower", {"tensor<2x3xf32>", "tensor<f32>"}, reducer("add", "bf16"), "1",
                 "reduce: element type 0 of region 0, got bf16, expected f32 or wider"),
    reduce_error("c6_family", {"tensor<2x3xf32>", "tensor<f32>"}, reducer("add", "i64"), "1",
                 "reduce: element type 0 of region 0, got s64, expected f32 or wider"),
    reduce_error("c6_result", {"tensor<2x3xf32>", "tensor<f32>"}, comparator("GT", "f32"), "1",
                 "reduce: result types of region 0, got (pred[]), expected (f32[])"),
    reduce_error("c6_shape", {"tensor<2x3xf32>", "tensor<f32>"},
                 "{^bb0(%a: tensor<1xf32>, %b: tensor<1xf32>): \"stablehlo.return\"(%a) : "
                 "(tensor<1xf32>) -> ()}",
                 "1", "reduce: parameter types of region 0, got (f32[1], f32[1])"),
    reduce_error("c7_shape", {"tensor<2x3xf32>", "tensor<f32>"}, reducer("add", "f32"), "0",
                 "reduce: declared result types, got (f32[2]), expected (f32[3])"),
    reduce_error("c8_dtype", {"tensor<2x3xf32>", "tensor<f32>"}, reducer("add", "f64"), "1",
                 "reduce: declared result types, got (f32[2]), expected (f64[2])"),

    {"c1_count",
     "reduce_window",
     {"tensor<4xf32>", "tensor<f32>", "tensor<f32>"},
     "(" + reducer("add", "f32") + ") {window_dimensions = array<i64: 1>}",
     {"tensor<4xf32>"},
     "reduce_window: number of operands, got 3"},
    {"c2_shapes",
     "reduce_window",
     {"tensor<2xf32>", "tensor<3xi32>", "tensor<f32>", "tensor<i32>"},
     "(" + kArgMax + ") {window_dimensions = array<i64: 1>}",
     {"tensor<2xf32>", "tensor<2xi32>"},
     "reduce_window: shape of input 1, got [3], expected [2]"},
    {"c3_dtype",
     "reduce_window",
     {"tensor<4xf32>", "tensor<f16>"},
     "(" + reducer("add", "f32") + ") {window_dimensions = array<i64: 1>}",
     {"tensor<4xf32>"},
     "reduce_window: element type of initial value 0, got f16, expected f32"},
    window_error("c4_count", "window_dimensions = array<i64: 2>",
                 "reduce_window: window_dimensions, got 1 values, expected 2"),
    window_error("c5_positive", "window_dimensions = array<i64: 2, 0>",
                 "reduce_window: window_dimensions, got [2, 0], expected values >= 1"),
    window_error("c6_count", "window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1>",
                 "reduce_window: window_strides, got 1 values, expected 2"),
    window_error("c7_positive",
                 "window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, -1>",
                 "reduce_window: window_strides, got [1, -1], expected values >= 1"),
    window_error("c8_count", "window_dimensions = array<i64: 2, 2>, base_dilations = array<i64: 1>",
                 "reduce_window: base_dilations, got 1 values, expected 2"),
    window_error("c9_positive",
                 "window_dimensions = array<i64: 2, 2>, base_dilations = array<i64: 1, 0>",
                 "reduce_window: base_dilations, got [1, 0], expected values >= 1"),
    window_error("c10_count",
                 "window_dimensions = array<i64: 2, 2>, window_dilations = array<i64: 1, 1, 1>",
                 "reduce_window: window_dilations, got 3 values, expected 2"),
    window_error("c11_positive",
                 "window_dimensions = array<i64: 2, 2>, window_dilations = array<i64: 0, 1>",
                 "reduce_window: window_dilations, got [0, 1], expected values >= 1"),
    window_error("c12_count",
                 "window_dimensions = array<i64: 2, 2>, padding = dense<0> : tensor<1x2xi64>",
                 "reduce_window: padding, got 1 values, expected 2"),
    {"c13_region",
     "reduce_window",
     {"tensor<4xf32>", "tensor<f32>"},
     "(" + reducer("add", "f16") + ") {window_dimensions = array<i64: 1>}",
     {"tensor<4xf32>"},
     "reduce_window: element type 0 of region 0, got f16, expected f32 or wider"},
    window_error("c15_shape", "window_dimensions = array<i64: 3, 3>",
                 "reduce_window: declared result types, got (f32[3,3]), expected (f32[2,2])"),
    window_error("c15_too_large",
                 "window_dimensions = array<i64: 2, 2>, padding = dense<9223372036854775807> : "
                 "tensor<2x2xi64>",
                 "reduce_window: size of the padded operand, got a size over 2^63"),

    scatter_error("c1_dtype", {"tensor<4xf32>", "tensor<2xf64>", "tensor<f32>"}, kPairs,
                  "select_and_scatter: element type of source, got f64, expected f32"),
    scatter_error("c2_source", {"tensor<4xf32>", "tensor<3xf32>", "tensor<f32>"}, kPairs,
                  "select_and_scatter: shape of source, got [3], expected [2]"),
    scatter_error("c3_dtype", {"tensor<4xf32>", "tensor<2xf32>", "tensor<f64>"}, kPairs,
                  "select_and_scatter: element type of init_value, got f64, expected f32"),
    scatter_error("i3_scalar", {"tensor<4xf32>", "tensor<2xf32>", "tensor<1xf32>"}, kPairs,
                  "select_and_scatter: init_value, got f32[1], expected a scalar"),
    scatter_error("c4_count", kPool, "window_dimensions = array<i64: 2, 2>",
                  "select_and_scatter: window_dimensions, got 2 values, expected 1"),
    scatter_error("c5_positive", kPool, "window_dimensions = array<i64: 0>",
                  "select_and_scatter: window_dimensions, got [0], expected values >= 1"),
    scatter_error("c6_count", kPool,
                  "window_dimensions = array<i64: 2>, window_strides = array<i64: 2, 2>",
                  "select_and_scatter: window_strides, got 2 values, expected 1"),
    scatter_error("c7_positive", kPool,
                  "window_dimensions = array<i64: 2>, window_strides = array<i64: 0>",
                  "select_and_scatter: window_strides, got [0], expected values >= 1"),
    scatter_error("c8_count", kPool, kPairs + ", padding = dense<0> : tensor<2x2xi64>",
                  "select_and_scatter: padding, got 2 values, expected 1"),
    scatter_error("no_dilation", kPool, kPairs + ", base_dilations = array<i64: 2>",
                  "select_and_scatter: dilations, got [2], expected none"),
    {"c9_select",
     "select_and_scatter",
     kPool,
     "(" + reducer("add", "f32") + ", " + reducer("add", "f32") + ") {" + kPairs + "}",
     {"tensor<4xf32>"},
     "select_and_scatter: result types of region 0, got (f32[]), expected (pred[])"},
    {"c10_scatter",
     "select_and_scatter",
     kPool,
     "(" + comparator("GE", "f32") + ", " + reducer("add", "f16") + ") {" + kPairs + "}",
     {"tensor<4xf32>"},
     "select_and_scatter: element type 0 of region 1, got f16"},
    {"c12_dtype",
     "select_and_scatter",
     kPool,
     "(" + comparator("GE", "f32") + ", " + reducer("add", "f64") + ") {" + kPairs + "}",
     {"tensor<4xf32>"},
     "select_and_scatter: declared result types, got (f32[4]), expected (f64[4])"},

    {"c1_none",
     "sort",
     {},
     "(" + comparator("LT", "f32") + ") {dimension = 0 : i64}",
     {},
     "sort: number of operands, got 0, expected at least 1"},
    {"c2_types",
     "sort",
     {"tensor<2xf32>"},
     "(" + comparator("LT", "f32") + ") {dimension = 0 : i64}",
     {"tensor<2xf64>"},
     "sort: declared result types, got (f64[2]), expected (f32[2])"},
    {"c3_shapes",
     "sort",
     {"tensor<2xi64>", "tensor<3xi64>"},
     "(" + kFirstDescending + ") {dimension = 0 : i64}",
     {"tensor<2xi64>", "tensor<3xi64>"},
     "sort: shape of input 1, got [3], expected [2]"},
    {"c4_range",
     "sort",
     {"tensor<2xf32>"},
     "(" + comparator("LT", "f32") + ") {dimension = 1 : i64}",
     {"tensor<2xf32>"},
     "sort: axis, got 1, expected in [-1, 1)"},
    {"c5_comparator",
     "sort",
     {"tensor<2xf32>"},
     "(" + comparator("LT", "f64") + ") {dimension = 0 : i64}",
     {"tensor<2xf32>"},
     "sort: parameter types of region 0, got (f64[], f64[]), expected (f32[], f32[])"},
};

INSTANTIATE_TEST_SUITE_P(Reductions, OpValue, ::testing::ValuesIn(kValues), row_name<ValueCase>);
INSTANTIATE_TEST_SUITE_P(Reductions, OpError, ::testing::ValuesIn(kErrors), row_name<ErrorCase>);

}  // namespace
}  // namespace systole::hlo::testing
