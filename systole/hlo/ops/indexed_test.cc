// Slices whose place is a value: dynamic_slice, dynamic_update_slice, gather, scatter.
#include "systole/hlo/testing/op_case.h"

namespace systole::hlo::testing {
namespace {

const std::string kMatrix = "dense<[[1, 2, 3], [4, 5, 6], [7, 8, 9]]> : tensor<3x3xi32>";
const std::string kCube =
    "dense<[[[1, 2], [3, 4], [5, 6], [7, 8]], [[9, 10], [11, 12], [13, 14], [15, 16]], "
    "[[17, 18], [19, 20], [21, 22], [23, 24]]]> : tensor<3x4x2xi64>";
const std::string kTwoCubes =
    "dense<[[[[1, 2], [3, 4], [5, 6], [7, 8]], [[9, 10], [11, 12], [13, 14], [15, 16]], "
    "[[17, 18], [19, 20], [21, 22], [23, 24]]], [[[25, 26], [27, 28], [29, 30], [31, 32]], "
    "[[33, 34], [35, 36], [37, 38], [39, 40]], [[41, 42], [43, 44], [45, 46], [47, 48]]]]> : "
    "tensor<2x3x4x2xi64>";
const std::string kBatchedIndices =
    "dense<[[[[0, 0], [1, 0], [2, 1]], [[0, 1], [1, 1], [0, 9]]], "
    "[[[0, 0], [2, 1], [2, 2]], [[1, 2], [0, 1], [1, 0]]]]> : tensor<2x2x3x2xi64>";

const std::string kRows =
    "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims "
    "= [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>";
const std::string kElements =
    "scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], "
    "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>";

std::string overwrite(const std::string& type) {
  const std::string t = "tensor<" + type + ">";
  return "{^bb0(%a: " + t + ", %b: " + t + "): \"stablehlo.return\"(%b) : (" + t + ") -> ()}";
}

const ValueCase kValues[] = {
    {"inside",
     "dynamic_slice",
     {kMatrix, "dense<1> : tensor<i32>", "dense<0> : tensor<i32>"},
     "{slice_sizes = array<i64: 2, 2>}",
     {"dense<[[4, 5], [7, 8]]> : tensor<2x2xi32>"}},
    {"clamped",
     "dynamic_slice",
     {kMatrix, "dense<-5> : tensor<i64>", "dense<7> : tensor<i64>"},
     "{slice_sizes = array<i64: 2, 2>}",
     {"dense<[[2, 3], [5, 6]]> : tensor<2x2xi32>"}},
    {"largest_unsigned_start",
     "dynamic_slice",
     {"dense<[1, 2, 3]> : tensor<3xi8>", "dense<18446744073709551615> : tensor<ui64>"},
     "{slice_sizes = array<i64: 1>}",
     {"dense<[3]> : tensor<1xi8>"}},
    {"scalar",
     "dynamic_slice",
     {"dense<5> : tensor<i8>"},
     "{slice_sizes = array<i64>}",
     {"dense<5> : tensor<i8>"}},

    {"inside",
     "dynamic_update_slice",
     {kMatrix, "dense<[[0, -1]]> : tensor<1x2xi32>", "dense<2> : tensor<ui8>",
      "dense<1> : tensor<ui8>"},
     "",
     {"dense<[[1, 2, 3], [4, 5, 6], [7, 0, -1]]> : tensor<3x3xi32>"}},
    {"clamped",
     "dynamic_update_slice",
     {"dense<0> : tensor<4x4xi32>", "dense<1> : tensor<2x2xi32>", "dense<-1> : tensor<i64>",
      "dense<3> : tensor<i64>"},
     "",
     {"dense<[[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]]> : tensor<4x4xi32>"}},

    {"windows_with_clamped_starts",
     "gather",
     {kCube, "dense<[[[0, 0], [1, 0], [2, 1]], [[0, 1], [1, 1], [0, 9]]]> : tensor<2x3x2xi64>"},
     "{dimension_numbers = #stablehlo.gather<offset_dims = [2, 3], collapsed_slice_dims = [0], "
     "start_index_map = [1, 0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 2, 2>, "
     "indices_are_sorted = false}",
     {"dense<[[[[1, 2], [3, 4]], [[3, 4], [5, 6]], [[13, 14], [15, 16]]], [[[9, 10], [11, 12]], "
      "[[11, 12], [13, 14]], [[17, 18], [19, 20]]]]> : tensor<2x3x2x2xi64>"}},
    {"batching_dims",
     "gather",
     {kTwoCubes, kBatchedIndices},
     "{dimension_numbers = #stablehlo.gather<offset_dims = [3, 4], collapsed_slice_dims = [1], "
     "operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [2, 1], "
     "index_vector_dim = 3>, slice_sizes = array<i64: 1, 1, 2, 2>}",
     {"dense<[[[[[1, 2], [3, 4]], [[3, 4], [5, 6]], [[13, 14], [15, 16]]], [[[33, 34], [35, 36]], "
      "[[35, 36], [37, 38]], [[41, 42], [43, 44]]]], [[[[1, 2], [3, 4]], [[13, 14], [15, 16]], "
      "[[21, 22], [23, 24]]], [[[43, 44], [45, 46]], [[33, 34], [35, 36]], [[27, 28], [29, "
      "30]]]]]> "
      ": tensor<2x2x3x2x2xi64>"}},
    {"embedding_rows",
     "gather",
     {kMatrix, "dense<[2, 0, -1, 5]> : tensor<4xi32>"},
     "{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], "
     "start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}",
     {"dense<[[7, 8, 9], [1, 2, 3], [1, 2, 3], [7, 8, 9]]> : tensor<4x3xi32>"}},
    {"window_axes_before_batch",
     "gather",
     {kMatrix, "dense<[2, 0]> : tensor<2xi32>"},
     "{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0], "
     "start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}",
     {"dense<[[7, 1], [8, 2], [9, 3]]> : tensor<3x2xi32>"}},

    {"any_number_of_empty_slices",
     "gather",
     {"dense<> : tensor<0xf32>", "dense<> : tensor<1152921504606846976x0xi32>"},
     "{dimension_numbers = #stablehlo.gather<offset_dims = [1], index_vector_dim = 1>, "
     "slice_sizes = array<i64: 0>}",
     {"dense<> : tensor<1152921504606846976x0xf32>"}},
    {"any_number_of_empty_windows",
     "scatter",
     {"dense<[1.0]> : tensor<1xf32>", "dense<> : tensor<1152921504606846976x0xi32>",
      "dense<> : tensor<1152921504606846976x0xf32>"},
     "(" + reducer("add", "f32") +
         ") {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], "
         "index_vector_dim = 1>}",
     {"dense<[1.0]> : tensor<1xf32>"}},
    {"adds_windows_and_drops_what_is_outside",
     "scatter",
     {kCube, "dense<[[[0, 2], [1, 0], [2, 1]], [[0, 1], [1, 0], [0, 9]]]> : tensor<2x3x2xi64>",
      "dense<1> : tensor<2x3x2x2xi64>"},
     "(" + reducer("add", "i64") +
         ") {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2, 3], "
         "inserted_window_dims = [0], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = "
         "2>, "
         "indices_are_sorted = false, unique_indices = false}",
     {"dense<[[[1, 2], [5, 6], [7, 8], [7, 8]], [[10, 11], [12, 13], [14, 15], [16, 17]], "
      "[[18, 19], [20, 21], [21, 22], [23, 24]]]> : tensor<3x4x2xi64>"}},
    {"batching_dims",
     "scatter",
     {kTwoCubes, kBatchedIndices, "dense<1> : tensor<2x2x3x2x2xi64>"},
     "(" + reducer("add", "i64") +
         ") {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [3, 4], "
         "inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = "
         "[1], scatter_dims_to_operand_dims = [2, 1], index_vector_dim = 3>}",
     {"dense<[[[[3, 4], [6, 7], [6, 7], [7, 8]], [[9, 10], [11, 12], [15, 16], [17, 18]], "
      "[[17, 18], [19, 20], [22, 23], [24, 25]]], [[[25, 26], [28, 29], [30, 31], [31, 32]], "
      "[[35, 36], [38, 39], [38, 39], [39, 40]], [[41, 42], [44, 45], [46, 47], [47, 48]]]]> : "
      "tensor<2x3x4x2xi64>"}},
    {"embedding_gradient",
     "scatter",
     {"dense<0.0> : tensor<3x2xf32>", "dense<[[2], [0], [2], [-1], [3]]> : tensor<5x1xi32>",
      "dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0], [9.0, 10.0]]> : tensor<5x2xf32>"},
     "(" + reducer("add", "f32") + ") {" + kRows + "}",
     {"dense<[[3.0, 4.0], [0.0, 0.0], [6.0, 8.0]]> : tensor<3x2xf32>"}},
    {"a_window_half_outside",
     "scatter",
     {"dense<0> : tensor<4xi32>", "dense<[[-1], [3]]> : tensor<2x1xi64>",
      "dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>"},
     "(" + reducer("add", "i32") +
         ") {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], "
         "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}",
     {"dense<[2, 0, 0, 3]> : tensor<4xi32>"}},
    {"overwrites",
     "scatter",
     {"dense<[1, 2, 3]> : tensor<3xi16>", "dense<[[1], [4]]> : tensor<2x1xi8>",
      "dense<[7, 8]> : tensor<2xi16>"},
     "(" + overwrite("i16") + ") {" + kElements + "}",
     {"dense<[1, 7, 3]> : tensor<3xi16>"}},
    {"by_region",
     "scatter",
     {"dense<[1, 2, 3]> : tensor<3xi16>", "dense<[[1], [1]]> : tensor<2x1xi8>",
      "dense<[7, 8]> : tensor<2xi16>"},
     "(" + swapped_reducer("subtract", "i16") + ") {" + kElements + "}",
     {"dense<[1, 3, 3]> : tensor<3xi16>"}},
    {"wraps",
     "scatter",
     {"dense<[127]> : tensor<1xi8>", "dense<[[0]]> : tensor<1x1xi8>", "dense<[1]> : tensor<1xi8>"},
     "(" + reducer("add", "i8") + ") {" + kElements + "}",
     {"dense<[-128]> : tensor<1xi8>"}},
    {"promotes",
     "scatter",
     {"dense<[1.0, 2.0]> : tensor<2xbf16>", "dense<[[0], [0]]> : tensor<2x1xi8>",
      "dense<[256.0, 1.0]> : tensor<2xbf16>"},
     "(" + reducer("add", "f32") + ") {" + kElements + "}",
     {"dense<[258.0, 2.0]> : tensor<2xf32>"}},
    // Two inputs: minimum into the first, maximum into the second.
    {"variadic",
     "scatter",
     {"dense<[5, 5]> : tensor<2xi32>", "dense<[1.0, 1.0]> : tensor<2xf32>",
      "dense<[[0], [1], [0]]> : tensor<3x1xi32>", "dense<[4, 9, 3]> : tensor<3xi32>",
      "dense<[0.5, 2.0, 3.0]> : tensor<3xf32>"},
     "({^bb0(%a: tensor<i32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<f32>): "
     "%e = \"stablehlo.minimum\"(%a, %c) : (tensor<i32>, tensor<i32>) -> tensor<i32> "
     "%f = \"stablehlo.maximum\"(%b, %d) : (tensor<f32>, tensor<f32>) -> tensor<f32> "
     "\"stablehlo.return\"(%e, %f) : (tensor<i32>, tensor<f32>) -> ()}) {" +
         kElements + "}",
     {"dense<[3, 5]> : tensor<2xi32>", "dense<[3.0, 2.0]> : tensor<2xf32>"}},
};

// gather<...> with one thing wrong at a time: operand 3x4, indices 2x1.
ErrorCase gather_error(const std::string& name, const std::string& numbers,
                       const std::string& slice_sizes, const std::string& error,
                       const std::string& indices = "tensor<2x1xi32>") {
  return {name,
          "gather",
          {"tensor<3x4xf32>", indices},
          "{dimension_numbers = #stablehlo.gather<" + numbers +
              ">, slice_sizes = array<i64: " + slice_sizes + ">}",
          {"tensor<2x4xf32>"},
          error};
}

// scatter<...> likewise: input 3x4, indices 2x1, update 2x4.
ErrorCase scatter_error(const std::string& name, const std::string& numbers,
                        const std::string& error, const std::string& indices = "tensor<2x1xi32>",
                        const std::string& update = "tensor<2x4xf32>") {
  return {name,
          "scatter",
          {"tensor<3x4xf32>", indices, update},
          "(" + reducer("add", "f32") + ") {scatter_dimension_numbers = #stablehlo.scatter<" +
              numbers + ">}",
          {"tensor<3x4xf32>"},
          error};
}

const ErrorCase kErrors[] = {
    {"c2_sizes",
     "dynamic_slice",
     {"tensor<2x2xf32>", "tensor<i32>", "tensor<i32>"},
     "{slice_sizes = array<i64: 1>}",
     {"tensor<1xf32>"},
     "dynamic_slice: slice_sizes, got 1 values, expected 2"},
    {"c2_starts",
     "dynamic_slice",
     {"tensor<2x2xf32>", "tensor<i32>"},
     "{slice_sizes = array<i64: 1, 1>}",
     {"tensor<1x1xf32>"},
     "dynamic_slice: start_indices, got 1 values, expected 2"},
    {"c3_same",
     "dynamic_slice",
     {"tensor<2x2xf32>", "tensor<i32>", "tensor<i64>"},
     "{slice_sizes = array<i64: 1, 1>}",
     {"tensor<1x1xf32>"},
     "dynamic_slice: element type of start index 1, got s64, expected s32"},
    {"i2_integer",
     "dynamic_slice",
     {"tensor<2xf32>", "tensor<f32>"},
     "{slice_sizes = array<i64: 1>}",
     {"tensor<1xf32>"},
     "dynamic_slice: element type of start index 0, got f32, expected an integer"},
    {"i2_scalar",
     "dynamic_slice",
     {"tensor<2xf32>", "tensor<1xi32>"},
     "{slice_sizes = array<i64: 1>}",
     {"tensor<1xf32>"},
     "dynamic_slice: start index 0, got s32[1], expected a scalar"},
    {"c4_too_large",
     "dynamic_slice",
     {"tensor<2xf32>", "tensor<i32>"},
     "{slice_sizes = array<i64: 3>}",
     {"tensor<3xf32>"},
     "dynamic_slice: slice_sizes, got [3], expected sizes within [2]"},

    {"c2_dtype",
     "dynamic_update_slice",
     {"tensor<2xf32>", "tensor<1xf64>", "tensor<i32>"},
     "",
     {"tensor<2xf32>"},
     "dynamic_update_slice: element type of update, got f64, expected f32"},
    {"c3_rank",
     "dynamic_update_slice",
     {"tensor<2xf32>", "tensor<1x1xf32>", "tensor<i32>"},
     "",
     {"tensor<2xf32>"},
     "dynamic_update_slice: shape of update, got 2 values, expected 1"},
    {"c4_starts",
     "dynamic_update_slice",
     {"tensor<2xf32>", "tensor<1xf32>"},
     "",
     {"tensor<2xf32>"},
     "dynamic_update_slice: start_indices, got 0 values, expected 1"},
    {"c5_same",
     "dynamic_update_slice",
     {"tensor<2x2xf32>", "tensor<1x1xf32>", "tensor<i32>", "tensor<ui32>"},
     "",
     {"tensor<2x2xf32>"},
     "dynamic_update_slice: element type of start index 1, got u32, expected s32"},
    {"c6_too_large",
     "dynamic_update_slice",
     {"tensor<2xf32>", "tensor<3xf32>", "tensor<i32>"},
     "",
     {"tensor<2xf32>"},
     "dynamic_update_slice: shape of update, got [3], expected sizes within [2]"},

    gather_error("c1_rank", "offset_dims = [1], start_index_map = [0], index_vector_dim = 1",
                 "1, 4", "got 1 values, expected 2"),
    gather_error("c2_vector_dim",
                 "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], "
                 "index_vector_dim = 3",
                 "1, 4", "gather: index_vector_dim, got [3], expected axes in [0, 3)"),
    gather_error("c3_map_size",
                 "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], "
                 "index_vector_dim = 1",
                 "1, 4", "gather: start_index_map, got 2 values, expected 1"),
    gather_error("c4_unsorted", "offset_dims = [2, 1], start_index_map = [0], index_vector_dim = 1",
                 "1, 4", "gather: offset_dims, got [2, 1], expected ascending values"),
    gather_error("c4_twice", "offset_dims = [1, 1], start_index_map = [0], index_vector_dim = 1",
                 "1, 4", "gather: offset_dims, got [1, 1], expected no value twice"),
    gather_error("c5_range",
                 "offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], "
                 "index_vector_dim = 1",
                 "1, 4", "gather: offset_dims, got [2], expected axes in [0, 2)"),
    gather_error("c6_twice",
                 "collapsed_slice_dims = [0, 0], start_index_map = [0], index_vector_dim = 1",
                 "1, 4", "expected no value twice"),
    gather_error("c7_unsorted",
                 "collapsed_slice_dims = [1, 0], start_index_map = [0], index_vector_dim = 1",
                 "1, 1", "gather: collapsed_slice_dims, got [1, 0], expected ascending values"),
    gather_error("c8_range",
                 "offset_dims = [1], collapsed_slice_dims = [2], start_index_map = [0], "
                 "index_vector_dim = 1",
                 "1, 4", "gather: collapsed_slice_dims, got [2], expected axes in [0, 2)"),
    gather_error("c9_size",
                 "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], "
                 "index_vector_dim = 1",
                 "2, 4", "gather: slice_sizes[0], got 2, expected <= 1"),
    gather_error("c10_unsorted",
                 "operand_batching_dims = [1, 0], start_indices_batching_dims = [0, 1], "
                 "start_index_map = [], index_vector_dim = 2",
                 "1, 1", "gather: operand_batching_dims, got [1, 0], expected ascending values"),
    gather_error(
        "c11_range",
        "offset_dims = [1], operand_batching_dims = [2], start_indices_batching_dims = [0], "
        "start_index_map = [1], index_vector_dim = 1",
        "1, 4", "gather: operand_batching_dims, got [2], expected axes in [0, 2)"),
    gather_error(
        "c12_size",
        "offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], "
        "start_index_map = [1], index_vector_dim = 1",
        "2, 4", "gather: slice_sizes[0], got 2, expected <= 1", "tensor<3x1xi32>"),
    gather_error("c13_twice",
                 "operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 0], "
                 "index_vector_dim = 1",
                 "1, 1", "gather: start_indices_batching_dims, got [0, 0], expected no value twice",
                 "tensor<3x0xi32>"),
    gather_error(
        "c14_range",
        "offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [2], "
        "start_index_map = [1], index_vector_dim = 1",
        "1, 4", "gather: start_indices_batching_dims, got [2], expected axes in [0, 2)"),
    gather_error(
        "c15_vector_dim",
        "offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [1], "
        "start_index_map = [1], index_vector_dim = 1",
        "1, 4", "expected without index_vector_dim 1"),
    gather_error("c16_count",
                 "offset_dims = [1], operand_batching_dims = [0], start_index_map = [1], "
                 "index_vector_dim = 1",
                 "1, 4", "gather: start_indices_batching_dims, got 0 values, expected 1"),
    gather_error(
        "c17_size",
        "offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], "
        "start_index_map = [1], index_vector_dim = 1",
        "1, 4", "gather: size of batching dim 0, got 3 and 2, expected equal"),
    gather_error(
        "c18_twice",
        "offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], "
        "start_index_map = [0], index_vector_dim = 1",
        "1, 4", "start_index_map and operand_batching_dims, got [0, 0]"),
    gather_error("c19_range",
                 "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [-1], "
                 "index_vector_dim = 1",
                 "1, 4", "gather: start_index_map, got [-1], expected axes in [0, 2)"),
    gather_error("c20_count",
                 "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], "
                 "index_vector_dim = 1",
                 "1", "gather: slice_sizes, got 1 values, expected 2"),
    gather_error("c21_too_large",
                 "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], "
                 "index_vector_dim = 1",
                 "1, 5", "gather: slice_sizes, got [1, 5], expected sizes within [3,4]"),
    gather_error("c22_shape",
                 "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], "
                 "index_vector_dim = 1",
                 "1, 3", "gather: declared result types, got (f32[2,4]), expected (f32[2,3])"),
    gather_error("i2_integer",
                 "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], "
                 "index_vector_dim = 1",
                 "1, 4", "gather: element type of start_indices, got f32, expected an integer",
                 "tensor<2x1xf32>"),

    scatter_error(
        "c2_rank",
        "update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1",
        "got 1 values, expected 2"),
    scatter_error("c4_batch",
                  "update_window_dims = [1], inserted_window_dims = [0], "
                  "scatter_dims_to_operand_dims = [0], index_vector_dim = 1",
                  "scatter: axis 0 of update 0, got size 3, expected 2", "tensor<2x1xi32>",
                  "tensor<3x4xf32>"),
    scatter_error("c4_window",
                  "update_window_dims = [1], inserted_window_dims = [0], "
                  "scatter_dims_to_operand_dims = [0], index_vector_dim = 1",
                  "scatter: axis 1 of update 0, got size 5, expected at most 4", "tensor<2x1xi32>",
                  "tensor<2x5xf32>"),
    scatter_error("c4_rank",
                  "update_window_dims = [1], inserted_window_dims = [0], "
                  "scatter_dims_to_operand_dims = [0], index_vector_dim = 1",
                  "scatter: shape of update 0, got 1 values, expected 2", "tensor<2x1xi32>",
                  "tensor<2xf32>"),
    {"c5_count",
     "scatter",
     {"tensor<3xf32>", "tensor<3xf32>", "tensor<1x1xi32>", "tensor<1xf32>"},
     "(" + reducer("add", "f32") + ") {" + kElements + "}",
     {"tensor<3xf32>"},
     "scatter: number of operands, got 4"},
    {"c1_shapes",
     "scatter",
     {"tensor<3xf32>", "tensor<4xf32>", "tensor<1x1xi32>", "tensor<1xf32>", "tensor<1xf32>"},
     "(" + reducer("add", "f32") + ") {" + kElements + "}",
     {"tensor<3xf32>"},
     "scatter: shape of input 1, got [4], expected [3]"},
    {"c3_shapes",
     "scatter",
     {"tensor<3xf32>", "tensor<3xf32>", "tensor<1x1xi32>", "tensor<1xf32>", "tensor<2xf32>"},
     "(" + reducer("add", "f32") + ") {" + kElements + "}",
     {"tensor<3xf32>"},
     "scatter: shape of update 1, got [2], expected [1]"},
    scatter_error("c6_dtype",
                  "update_window_dims = [1], inserted_window_dims = [0], "
                  "scatter_dims_to_operand_dims = [0], index_vector_dim = 1",
                  "scatter: element type of update 0, got f64, expected f32", "tensor<2x1xi32>",
                  "tensor<2x4xf64>"),
    scatter_error("c7_unsorted",
                  "update_window_dims = [2, 1], scatter_dims_to_operand_dims = [0], "
                  "index_vector_dim = 1",
                  "scatter: update_window_dims, got [2, 1], expected ascending values",
                  "tensor<2x1xi32>", "tensor<2x3x4xf32>"),
    scatter_error("c8_range",
                  "update_window_dims = [2], inserted_window_dims = [0], "
                  "scatter_dims_to_operand_dims = [0], index_vector_dim = 1",
                  "scatter: update_window_dims, got [2], expected axes in [0, 2)"),
    scatter_error("c9_twice",
                  "inserted_window_dims = [0, 0], scatter_dims_to_operand_dims = [0], "
                  "index_vector_dim = 1",
                  "inserted_window_dims and input_batching_dims, got [0, 0]"),
    scatter_error("c10_unsorted",
                  "inserted_window_dims = [1, 0], scatter_dims_to_operand_dims = [0], "
                  "index_vector_dim = 1",
                  "scatter: inserted_window_dims, got [1, 0], expected ascending values"),
    scatter_error("c11_range",
                  "update_window_dims = [1], inserted_window_dims = [2], "
                  "scatter_dims_to_operand_dims = [0], index_vector_dim = 1",
                  "scatter: inserted_window_dims, got [2], expected axes in [0, 2)"),
    scatter_error("c12_unsorted",
                  "input_batching_dims = [1, 0], scatter_indices_batching_dims = [0, 1], "
                  "index_vector_dim = 2",
                  "scatter: input_batching_dims, got [1, 0], expected ascending values"),
    scatter_error("c13_range",
                  "update_window_dims = [1], input_batching_dims = [2], "
                  "scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], "
                  "index_vector_dim = 1",
                  "scatter: input_batching_dims, got [2], expected axes in [0, 2)"),
    scatter_error("c14_twice",
                  "input_batching_dims = [0, 1], scatter_indices_batching_dims = [0, 0], "
                  "index_vector_dim = 1",
                  "scatter: scatter_indices_batching_dims, got [0, 0], expected no value twice",
                  "tensor<3x0xi32>"),
    scatter_error("c15_range",
                  "update_window_dims = [1], input_batching_dims = [0], "
                  "scatter_indices_batching_dims = [2], scatter_dims_to_operand_dims = [1], "
                  "index_vector_dim = 1",
                  "scatter: scatter_indices_batching_dims, got [2], expected axes in [0, 2)"),
    scatter_error("c16_vector_dim",
                  "update_window_dims = [1], input_batching_dims = [0], "
                  "scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [1], "
                  "index_vector_dim = 1",
                  "expected without index_vector_dim 1"),
    scatter_error("c17_count",
                  "update_window_dims = [1], input_batching_dims = [0], "
                  "scatter_dims_to_operand_dims = [1], index_vector_dim = 1",
                  "scatter: scatter_indices_batching_dims, got 0 values, expected 1"),
    scatter_error("c18_size",
                  "update_window_dims = [1], input_batching_dims = [0], "
                  "scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], "
                  "index_vector_dim = 1",
                  "scatter: size of batching dim 0, got 3 and 2, expected equal"),
    scatter_error("c19_map_size",
                  "update_window_dims = [1], inserted_window_dims = [0], "
                  "scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1",
                  "scatter: scatter_dims_to_operand_dims, got 2 values, expected 1"),
    scatter_error("c20_twice",
                  "update_window_dims = [1], input_batching_dims = [0], "
                  "scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [0], "
                  "index_vector_dim = 1",
                  "scatter_dims_to_operand_dims and input_batching_dims, got [0, 0]"),
    scatter_error("c21_range",
                  "update_window_dims = [1], inserted_window_dims = [0], "
                  "scatter_dims_to_operand_dims = [2], index_vector_dim = 1",
                  "scatter: scatter_dims_to_operand_dims, got [2], expected axes in [0, 2)"),
    scatter_error("c22_vector_dim",
                  "update_window_dims = [1], inserted_window_dims = [0], "
                  "scatter_dims_to_operand_dims = [0], index_vector_dim = 3",
                  "scatter: index_vector_dim, got [3], expected axes in [0, 3)"),
    {"c23_region",
     "scatter",
     {"tensor<3xf32>", "tensor<1x1xi32>", "tensor<1xf32>"},
     "(" + reducer("add", "f16") + ") {" + kElements + "}",
     {"tensor<3xf32>"},
     "scatter: element type 0 of region 0, got f16, expected f32 or wider"},
    {"c25_dtype",
     "scatter",
     {"tensor<3xf32>", "tensor<1x1xi32>", "tensor<1xf32>"},
     "(" + reducer("add", "f64") + ") {" + kElements + "}",
     {"tensor<3xf32>"},
     "scatter: declared result types, got (f32[3]), expected (f64[3])"},
    {"i2_integer",
     "scatter",
     {"tensor<3xf32>", "tensor<1x1xf32>", "tensor<1xf32>"},
     "(" + reducer("add", "f32") + ") {" + kElements + "}",
     {"tensor<3xf32>"},
     "scatter: element type of scatter_indices, got f32, expected an integer"},
};

INSTANTIATE_TEST_SUITE_P(Indexed, OpValue, ::testing::ValuesIn(kValues), row_name<ValueCase>);
INSTANTIATE_TEST_SUITE_P(Indexed, OpError, ::testing::ValuesIn(kErrors), row_name<ErrorCase>);

}  // namespace
}  // namespace systole::hlo::testing
