// bitcast_convert, broadcast_in_dim, concatenate, pad, reshape, reverse, slice, transpose.
#include "systole/hlo/testing/op_case.h"

namespace systole::hlo::testing {
namespace {

const ValueCase kValues[] = {
    {"matrix", "reshape", {"dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>"}, "",
     {"dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>"}},
    {"scalar", "reshape", {"dense<[[7]]> : tensor<1x1xui8>"}, "", {"dense<7> : tensor<ui8>"}},
    {"empty", "reshape", {"dense<> : tensor<0x3xf32>"}, "", {"dense<> : tensor<5x0xf32>"}},

    {"reverses_axes", "transpose",
     {"dense<[[[1, 2], [3, 4], [5, 6]], [[7, 8], [9, 10], [11, 12]]]> : tensor<2x3x2xi32>"},
     "{permutation = array<i64: 2, 1, 0>}",
     {"dense<[[[1, 7], [3, 9], [5, 11]], [[2, 8], [4, 10], [6, 12]]]> : tensor<2x3x2xi32>"}},
    {"one_byte", "transpose", {"dense<[[true, false, false], [true, true, false]]> : tensor<2x3xi1>"},
     "{permutation = array<i64: 1, 0>}",
     {"dense<[[true, true], [false, true], [false, false]]> : tensor<3x2xi1>"}},
    {"sixteen_bytes", "transpose", {"dense<[[(1.0, 2.0), (3.0, 4.0)]]> : tensor<1x2xcomplex<f64>>"},
     "{permutation = array<i64: 1, 0>}",
     {"dense<[[(1.0, 2.0)], [(3.0, 4.0)]]> : tensor<2x1xcomplex<f64>>"}},
    {"scalar", "transpose", {"dense<1> : tensor<i16>"}, "{permutation = array<i64>}",
     {"dense<1> : tensor<i16>"}},

    {"one_axis", "reverse", {"dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>"},
     "{dimensions = array<i64: 1>}", {"dense<[[2, 1], [4, 3], [6, 5]]> : tensor<3x2xi32>"}},
    {"both_axes", "reverse", {"dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>"},
     "{dimensions = array<i64: 1, 0>}", {"dense<[[6, 5], [4, 3], [2, 1]]> : tensor<3x2xi32>"}},
    {"empty", "reverse", {"dense<> : tensor<0xf32>"}, "{dimensions = array<i64: 0>}",
     {"dense<> : tensor<0xf32>"}},

    {"new_axis_and_order", "broadcast_in_dim", {"dense<[[1, 2, 3]]> : tensor<1x3xi32>"},
     "{broadcast_dimensions = array<i64: 2, 1>}",
     {"dense<[[[1, 1], [2, 2], [3, 3]], [[1, 1], [2, 2], [3, 3]]]> : tensor<2x3x2xi32>"}},
    {"scalar", "broadcast_in_dim", {"dense<1.5> : tensor<f64>"},
     "{broadcast_dimensions = array<i64>}", {"dense<1.5> : tensor<2x2xf64>"}},
    {"into_nothing", "broadcast_in_dim", {"dense<[1]> : tensor<1xi8>"},
     "{broadcast_dimensions = array<i64: 0>}", {"dense<> : tensor<0xi8>"}},

    {"rows", "concatenate",
     {"dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi64>", "dense<[[7, 8]]> : tensor<1x2xi64>"},
     "{dimension = 0 : i64}", {"dense<[[1, 2], [3, 4], [5, 6], [7, 8]]> : tensor<4x2xi64>"}},
    {"columns_and_nothing", "concatenate",
     {"dense<[[1], [2]]> : tensor<2x1xi64>", "dense<> : tensor<2x0xi64>",
      "dense<[[3, 4], [5, 6]]> : tensor<2x2xi64>"},
     "{dimension = 1 : i64}", {"dense<[[1, 3, 4], [2, 5, 6]]> : tensor<2x3xi64>"}},

    {"corner", "slice", {"dense<[[0, 0, 0, 0], [0, 0, 1, 2], [0, 0, 3, 4]]> : tensor<3x4xi64>"},
     "{start_indices = array<i64: 1, 2>, limit_indices = array<i64: 3, 4>, strides = array<i64: 1, 1>}",
     {"dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>"}},
    {"strided", "slice", {"dense<[0, 1, 2, 3, 4, 5, 6]> : tensor<7xi64>"},
     "{start_indices = array<i64: 1>, limit_indices = array<i64: 6>, strides = array<i64: 2>}",
     {"dense<[1, 3, 5]> : tensor<3xi64>"}},
    {"largest_stride", "slice", {"dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>"},
     "{start_indices = array<i64: 1, 0>, limit_indices = array<i64: 2, 2>, "
     "strides = array<i64: 9223372036854775807, 1>}",
     {"dense<[[2, 3]]> : tensor<1x2xi64>"}},
    {"empty", "slice", {"dense<[0, 1, 2]> : tensor<3xi64>"},
     "{start_indices = array<i64: 3>, limit_indices = array<i64: 3>, strides = array<i64: 5>}",
     {"dense<> : tensor<0xi64>"}},

    {"edges_and_interior", "pad",
     {"dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>", "dense<0> : tensor<i32>"},
     "{edge_padding_low = array<i64: 0, 1>, edge_padding_high = array<i64: 2, 1>, "
     "interior_padding = array<i64: 1, 2>}",
     {"dense<[[0, 1, 0, 0, 2, 0, 0, 3, 0], [0, 0, 0, 0, 0, 0, 0, 0, 0], "
      "[0, 4, 0, 0, 5, 0, 0, 6, 0], [0, 0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0, 0]]> "
      ": tensor<5x9xi32>"}},
    // 1 0 0 2 0 0 3 0 0 4, less two on the left and three on the right.
    {"negative_edges_and_interior", "pad",
     {"dense<[1, 2, 3, 4]> : tensor<4xi32>", "dense<0> : tensor<i32>"},
     "{edge_padding_low = array<i64: -2>, edge_padding_high = array<i64: -3>, "
     "interior_padding = array<i64: 2>}",
     {"dense<[0, 2, 0, 0, 3]> : tensor<5xi32>"}},
    {"negative_low_positive_high", "pad",
     {"dense<[1, 2, 3]> : tensor<3xf32>", "dense<9.0> : tensor<f32>"},
     "{edge_padding_low = array<i64: -1>, edge_padding_high = array<i64: 2>, "
     "interior_padding = array<i64: 0>}",
     {"dense<[2.0, 3.0, 9.0, 9.0]> : tensor<4xf32>"}},
    {"only_holes_left", "pad",
     {"dense<[1, 2]> : tensor<2xi8>", "dense<7> : tensor<i8>"},
     "{edge_padding_low = array<i64: -1>, edge_padding_high = array<i64: -1>, "
     "interior_padding = array<i64: 2>}",
     {"dense<7> : tensor<2xi8>"}},
    {"moved_out", "pad", {"dense<[1, 2]> : tensor<2xi8>", "dense<7> : tensor<i8>"},
     "{edge_padding_low = array<i64: -4>, edge_padding_high = array<i64: 4>, "
     "interior_padding = array<i64: 0>}",
     {"dense<7> : tensor<2xi8>"}},
    {"nothing_inside", "pad", {"dense<> : tensor<0xi8>", "dense<7> : tensor<i8>"},
     "{edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: 2>, "
     "interior_padding = array<i64: 4>}",
     {"dense<7> : tensor<3xi8>"}},

    {"to_narrower", "bitcast_convert", {"dense<0x0123456789ABCDEF> : tensor<i64>"}, "",
     {"dense<[0x89ABCDEF, 0x01234567]> : tensor<2xui32>"}},
    {"to_wider", "bitcast_convert", {"dense<[[0xCD, 0xAB], [0x34, 0x12]]> : tensor<2x2xui8>"}, "",
     {"dense<[0xABCD, 0x1234]> : tensor<2xui16>"}},
    {"same_width", "bitcast_convert", {"dense<[1.0, -2.0]> : tensor<2xf32>"}, "",
     {"dense<[0x3F800000, 0xC0000000]> : tensor<2xui32>"}},
    {"to_bits", "bitcast_convert", {"dense<0x35> : tensor<ui8>"}, "",
     {"dense<[true, false, true, false, true, true, false, false]> : tensor<8xi1>"}},
    {"from_bits", "bitcast_convert",
     {"dense<[true, false, true, false, true, true, false, false]> : tensor<8xi1>"}, "",
     {"dense<0x35> : tensor<ui8>"}},
    {"nibbles", "bitcast_convert", {"dense<[[1, -1], [-8, 7]]> : tensor<2x2xi4>"}, "",
     {"dense<[0xF1, 0x78]> : tensor<2xui8>"}},
    {"to_nibbles", "bitcast_convert", {"dense<0xF1> : tensor<ui8>"}, "",
     {"dense<[1, -1]> : tensor<2xi4>"}},
    {"nibble_to_unsigned", "bitcast_convert", {"dense<[-1, 3]> : tensor<2xi4>"}, "",
     {"dense<[15, 3]> : tensor<2xui4>"}},
    {"complex", "bitcast_convert",
     {"dense<(0x0123456789ABCDEF, 0x0000000011111111)> : tensor<complex<f64>>"}, "",
     {"dense<[(0x89ABCDEF, 0x01234567), (0x11111111, 0x00000000)]> : tensor<2xcomplex<f32>>"}},
};

const ErrorCase kErrors[] = {
    {"c1_dtype", "reshape", {"tensor<2xf32>"}, "", {"tensor<2xf64>"},
     "reshape: element type of result, got f64, expected f32"},
    {"c2_size", "reshape", {"tensor<2x3xf32>"}, "", {"tensor<5xf32>"},
     "reshape: shape of result, got [5] from [2,3], expected 6 elements"},

    {"c2_too_few", "transpose", {"tensor<2x3xf32>"}, "{permutation = array<i64: 0>}",
     {"tensor<2xf32>"}, "transpose: permutation, got 1 values, expected 2"},
    {"c2_twice", "transpose", {"tensor<2x3xf32>"}, "{permutation = array<i64: 1, 1>}",
     {"tensor<3x3xf32>"}, "transpose: permutation, got [1, 1], expected no value twice"},
    {"c2_range", "transpose", {"tensor<2x3xf32>"}, "{permutation = array<i64: 0, 2>}",
     {"tensor<2x3xf32>"}, "transpose: permutation, got [0, 2], expected axes in [0, 2)"},
    {"c3_shape", "transpose", {"tensor<2x3xf32>"}, "{permutation = array<i64: 1, 0>}",
     {"tensor<2x3xf32>"}, "transpose: result types, got (f32[2,3]), expected (f32[3,2])"},

    {"c2_twice", "reverse", {"tensor<2xf32>"}, "{dimensions = array<i64: 0, 0>}", {"tensor<2xf32>"},
     "reverse: dimensions, got [0, 0], expected no value twice"},
    {"c3_range", "reverse", {"tensor<2xf32>"}, "{dimensions = array<i64: -1>}", {"tensor<2xf32>"},
     "reverse: dimensions, got [-1], expected axes in [0, 1)"},

    {"c1_dtype", "broadcast_in_dim", {"tensor<f32>"}, "{broadcast_dimensions = array<i64>}",
     {"tensor<2xf16>"}, "broadcast_in_dim: element type of result, got f16, expected f32"},
    {"c2_count", "broadcast_in_dim", {"tensor<2xf32>"}, "{broadcast_dimensions = array<i64>}",
     {"tensor<2xf32>"}, "broadcast_in_dim: broadcast_dimensions, got 0 values, expected 1"},
    {"c3_range", "broadcast_in_dim", {"tensor<2xf32>"}, "{broadcast_dimensions = array<i64: 1>}",
     {"tensor<2xf32>"}, "broadcast_in_dim: broadcast_dimensions, got [1], expected axes in [0, 1)"},
    {"c4_twice", "broadcast_in_dim", {"tensor<2x2xf32>"},
     "{broadcast_dimensions = array<i64: 0, 0>}", {"tensor<2x2xf32>"},
     "broadcast_in_dim: broadcast_dimensions, got [0, 0], expected no value twice"},
    {"c5_size", "broadcast_in_dim", {"tensor<2xf32>"}, "{broadcast_dimensions = array<i64: 0>}",
     {"tensor<3xf32>"}, "broadcast_in_dim: operand [2] in result [3], got axis 0 for axis 0"},

    {"c1_dtype", "concatenate", {"tensor<2xf32>", "tensor<2xf64>"}, "{dimension = 0 : i64}",
     {"tensor<4xf32>"}, "concatenate: element type of input 1, got f64, expected f32"},
    {"c2_shape", "concatenate", {"tensor<2x3xf32>", "tensor<2x4xf32>"}, "{dimension = 0 : i64}",
     {"tensor<4x3xf32>"}, "concatenate: shape of input 1, got [2,4], expected [2,3]"},
    {"c2_rank", "concatenate", {"tensor<2x3xf32>", "tensor<2xf32>"}, "{dimension = 0 : i64}",
     {"tensor<4x3xf32>"}, "concatenate: shape of input 1, got [2], expected [2,3]"},
    {"c3_none", "concatenate", {}, "{dimension = 0 : i64}", {"tensor<0xf32>"},
     "concatenate: number of operands, got 0, expected at least 1"},
    {"c4_range", "concatenate", {"tensor<2xf32>"}, "{dimension = 1 : i64}", {"tensor<2xf32>"},
     "concatenate: dimension, got [1], expected axes in [0, 1)"},
    {"c6_too_large", "concatenate",
     {"tensor<9223372036854775807x0xf32>", "tensor<1x0xf32>"}, "{dimension = 0 : i64}",
     {"tensor<1x0xf32>"}, "concatenate: dimension of result, got a size over 2^63"},

    {"c2_count", "slice", {"tensor<2x2xf32>"},
     "{start_indices = array<i64: 0>, limit_indices = array<i64: 1, 1>, strides = array<i64: 1, 1>}",
     {"tensor<1x1xf32>"}, "slice: start_indices, got 1 values, expected 2"},
    {"c3_limit", "slice", {"tensor<2xf32>"},
     "{start_indices = array<i64: 0>, limit_indices = array<i64: 3>, strides = array<i64: 1>}",
     {"tensor<3xf32>"}, "slice: range of axis 0, got [0, 3), expected within [0, 2)"},
    {"c3_order", "slice", {"tensor<2xf32>"},
     "{start_indices = array<i64: 2>, limit_indices = array<i64: 1>, strides = array<i64: 1>}",
     {"tensor<1xf32>"}, "slice: range of axis 0, got [2, 1)"},
    {"c4_stride", "slice", {"tensor<2xf32>"},
     "{start_indices = array<i64: 0>, limit_indices = array<i64: 2>, strides = array<i64: 0>}",
     {"tensor<2xf32>"}, "slice: strides, got [0], expected values >= 1"},

    {"i2_scalar", "pad", {"tensor<2xf32>", "tensor<1xf32>"},
     "{edge_padding_low = array<i64: 0>, edge_padding_high = array<i64: 0>, interior_padding = "
     "array<i64: 0>}",
     {"tensor<2xf32>"}, "pad: padding_value, got f32[1], expected a scalar"},
    {"c1_dtype", "pad", {"tensor<2xf32>", "tensor<f64>"},
     "{edge_padding_low = array<i64: 0>, edge_padding_high = array<i64: 0>, interior_padding = "
     "array<i64: 0>}",
     {"tensor<2xf32>"}, "pad: element type of padding_value, got f64, expected f32"},
    {"c2_count", "pad", {"tensor<2x2xf32>", "tensor<f32>"},
     "{edge_padding_low = array<i64: 0, 1, 2>, edge_padding_high = array<i64: 0, 0>, "
     "interior_padding = array<i64: 0, 0>}",
     {"tensor<2x2xf32>"}, "pad: edge_padding_low, got 3 values, expected 2"},
    {"c3_interior", "pad", {"tensor<2xf32>", "tensor<f32>"},
     "{edge_padding_low = array<i64: 0>, edge_padding_high = array<i64: 0>, interior_padding = "
     "array<i64: -1>}",
     {"tensor<1xf32>"}, "pad: interior_padding, got [-1], expected values >= 0"},
    {"c4_negative", "pad", {"tensor<2xf32>", "tensor<f32>"},
     "{edge_padding_low = array<i64: -2>, edge_padding_high = array<i64: -1>, interior_padding = "
     "array<i64: 0>}",
     {"tensor<0xf32>"}, "pad: axis 0 of result, got a negative size"},
    {"c4_too_large", "pad", {"tensor<3xf32>", "tensor<f32>"},
     "{edge_padding_low = array<i64: 9223372036854775807>, edge_padding_high = array<i64: 0>, "
     "interior_padding = array<i64: 9223372036854775807>}",
     {"tensor<0xf32>"}, "pad: axis 0 of result, got a size over 2^63"},

    {"c1_narrower", "bitcast_convert", {"tensor<2xf64>"}, "", {"tensor<2x4xf32>"},
     "bitcast_convert: types, got f64[2] to f32[2,4], expected shape [2, 2] for f32"},
    {"c1_wider", "bitcast_convert", {"tensor<2x3xf16>"}, "", {"tensor<2xf32>"},
     "bitcast_convert: types, got f16[2,3] to f32[2], expected shape [2, 2] for f16"},
    {"c2_complex", "bitcast_convert", {"tensor<2xf64>"}, "", {"tensor<2xcomplex<f32>>"},
     "bitcast_convert: element types, got f64 to c64, expected both complex or none"},
};

INSTANTIATE_TEST_SUITE_P(Movement, OpValue, ::testing::ValuesIn(kValues), row_name<ValueCase>);
INSTANTIATE_TEST_SUITE_P(Movement, OpError, ::testing::ValuesIn(kErrors), row_name<ErrorCase>);

}  // namespace
}  // namespace systole::hlo::testing
