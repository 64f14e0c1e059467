#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/testing/array_op_cases.h"

namespace systole::graph_testing {
namespace {

OpCase row(std::string name, BuildFn build, std::string error) {
  return {.name = "error_" + std::move(name),
          .build = std::move(build),
          .inputs = {Tensor::zeros(DType::f32, {2, 3}), Tensor::zeros(DType::f32, {4}),
                     Tensor::zeros(DType::s32, {3})},
          .error = std::move(error)};
}

std::vector<OpCase> shape_errors() {
  return {
      row(
          "reshape_count",
          [](auto& x) {
            return reshape(x[0], {4, 2});
          },
          "Reshape: shape, got [4,2] for a tensor of [2,3], expected 6 elements, node 'Reshape' at "
          "array_error_cases.cc:"),
      row(
          "reshape_rest",
          [](auto& x) {
            return reshape(x[0], {4, -1});
          },
          "Reshape: shape, got [4,?] for a tensor of [2,3], expected sizes that divide 6 elements"),
      row(
          "reshape_rests",
          [](auto& x) {
            return reshape(x[0], {-1, -1});
          },
          "Reshape: shape, got [?,?], expected at most one -1"),
      row(
          "reshape_dtype", [](auto& x) { return reshape(x[0], x[1]); },
          "Reshape: input 1, got f32[4], expected a vector of integers"),
      row(
          "shape_out_type", [](auto& x) { return shape(x[0], {.out_type = DType::f32}); },
          "Shape: out_type, got f32, expected s32 or s64, node 'Shape' at array_error_cases.cc:"),
      row(
          "size_out_type", [](auto& x) { return size(x[0], {.out_type = DType::u8}); },
          "Size: out_type, got u8, expected s32 or s64"),
      row(
          "range_dtype", [](auto&) { return range(Tensor(false), Tensor(true), Tensor(true)); },
          "Range: start, got pred, expected a floating or integer one"),
      row(
          "expand_dims_axis", [](auto& x) { return expand_dims(x[0], 4); },
          "ExpandDims: axis, got 4, expected in [-3, 3), node 'ExpandDims' at "
          "array_error_cases.cc:"),
      row(
          "squeeze_size", [](auto& x) { return squeeze(x[0], {.axis = 1}); },
          "Squeeze: axis 1 of [2,3], got size 3, expected 1"),
      row(
          "squeeze_axis", [](auto& x) { return squeeze(x[0], {.axis = 2}); },
          "Squeeze: axis, got 2, expected in [-2, 2), at array_error_cases.cc:"),
      row(
          "broadcast_to_size",
          [](auto& x) {
            return broadcast_to(x[0], {2, 4});
          },
          "BroadcastTo: shapes, got [2,3] and [2,4], expected shapes that broadcast"),
      row(
          "broadcast_to_smaller",
          [](auto& x) {
            return broadcast_to(x[0], {1, 3});
          },
          "BroadcastTo: shape, got [1,3] for a tensor of [2,3], expected one that it broadcasts "
          "to"),
      row(
          "transpose_perm",
          [](auto& x) {
            return transpose(x[0], {.perm = {0, 0}});
          },
          "Transpose: perm, got [0, 0] for a tensor of [2,3], expected a permutation of its 2 "
          "axes"),
      row(
          "matrix_transpose_rank", [](auto& x) { return matrix_transpose(x[1]); },
          "matrix_transpose: a, got f32[4], expected rank >= 2, at array_error_cases.cc:"),
      row(
          "reverse_twice",
          [](auto& x) {
            return reverse(x[0], {0, -2});
          },
          "ReverseV2: axes, got 0 twice, expected each once"),
  };
}

std::vector<OpCase> join_errors() {
  return {
      row(
          "concat_none", [](auto&) { return concat(std::vector<Output>(), 0); },
          "ConcatV2: values, got none, expected at least one"),
      row(
          "concat_shapes",
          [](auto& x) {
            return concat({x[0], x[1]}, 0);
          },
          "ConcatV2: values 0 and 1, got f32[2,3] and f32[4], expected equal but for axis 0, node "
          "'concat' at array_error_cases.cc:"),
      row(
          "concat_axis_of_one", [](auto& x) { return concat({x[0]}, 2); },
          "ConcatV2: axis, got 2, expected in [-2, 2), at array_error_cases.cc:"),
      row(
          "stack_shapes",
          [](auto& x) {
            return stack({x[0], x[1]});
          },
          "Pack: values 0 and 1, got f32[2,3] and f32[4], expected equal"),
      row(
          "stack_axis",
          [](auto& x) {
            return stack({x[0], x[0]}, {.axis = 3});
          },
          "Pack: axis, got 3, expected in [-3, 3)"),
      row(
          "unstack_num", [](auto& x) { return Outputs(unstack(x[0], {.num = 3})); },
          "Unpack: num, got 3, expected 2 as axis 0 of [2,3] has"),
      row(
          "unstack_axis", [](auto& x) { return Outputs(unstack(x[0], {.axis = 2})); },
          "Unpack: axis, got 2, expected in [-2, 2), at array_error_cases.cc:"),
      row(
          "split_num", [](auto& x) { return Outputs(split(x[0], 2, {.axis = 1})); },
          "Split: num, got 2 for axis 1 of [2,3], expected one that divides its size"),
      row(
          "split_sizes",
          [](auto& x) {
            return Outputs(split(x[0], std::vector<int64_t>{1, 3}, {.axis = 1}));
          },
          "SplitV: sizes, got [1,3], expected a sum of 3 and at most one -1"),
      row(
          "split_rests",
          [](auto& x) {
            return Outputs(split(x[0], std::vector<int64_t>{-1, -1}));
          },
          "SplitV: sizes, got [-1,-1], expected a sum of 2 and at most one -1"),
      row(
          "slice_beyond",
          [](auto& x) {
            return slice(x[0], {1, 1}, {1, 3});
          },
          "Slice: elements of axis 1 of [2,3], got [1,4), expected within [0,3)"),
      row(
          "slice_begin",
          [](auto& x) {
            return slice(x[0], {0, -1}, {1, 1});
          },
          "Slice: begin, got [0,?], expected numbers >= 0"),
      row(
          "slice_begin_beyond",
          [](auto& x) {
            return slice(x[0], {3, 0}, {-1, 1});
          },
          "Slice: elements of axis 0 of [2,3], got [3,2), expected within [0,2)"),
      row(
          "slice_rank", [](auto& x) { return slice(x[0], {0}, {1}); },
          "Slice: begin and size, got s32[1] and s32[1] for a tensor of [2,3], expected 2 numbers "
          "each"),
      row(
          "pad_rank",
          [](auto& x) {
            return pad(x[0], {{1, 1}});
          },
          "PadV2: paddings, got s32[1,2] for a tensor of [2,3], expected integers [2,2]"),
      row(
          "pad_negative",
          [](auto& x) {
            return pad(x[0], {{1, 1}, {0, -1}});
          },
          "PadV2: paddings of axis 1, got 0 and -1, expected >= 0"),
      row(
          "pad_reflect_far",
          [](auto& x) {
            return pad(x[0], {{0, 0}, {3, 0}}, {.mode = PadMode::reflect});
          },
          "MirrorPad: paddings of axis 1 of [2,3], got 3 and 0, expected between 0 and 2, at "
          "array_error_cases.cc:"),
      row(
          "tile_rank", [](auto& x) { return tile(x[0], {2}); },
          "Tile: multiples, got [2] for a tensor of [2,3], expected 2 numbers >= 0"),
  };
}

std::vector<OpCase> lookup_errors() {
  return {
      row(
          "strided_slice_counts",
          [](auto& x) {
            return strided_slice(x[0], {0}, {1, 1});
          },
          "StridedSlice: begin, end and strides, got 1, 2 and 1 numbers, expected as many of each"),
      row(
          "strided_slice_stride",
          [](auto& x) { return strided_slice(x[0], {0}, {1}, {.strides = {0}}); },
          "StridedSlice: strides, got 0 for axis 0, expected another number"),
      row(
          "strided_slice_element",
          [](auto& x) { return strided_slice(x[0], {2}, {3}, {.shrink_axis_mask = 1}); },
          "StridedSlice: position in axis 0 of [2,3], got 2, expected in [-2, 2), node "
          "'StridedSlice' at array_error_cases.cc:"),
      row(
          "strided_slice_rank",
          [](auto& x) {
            return strided_slice(x[0], {0, 0, 0}, {1, 1, 1});
          },
          "StridedSlice: begin, got 3 axes for a tensor of [2,3], expected at most its rank"),
      row(
          "strided_slice_ellipses",
          [](auto& x) {
            return strided_slice(x[0], {0, 0}, {1, 1}, {.ellipsis_mask = 3});
          },
          "StridedSlice: ellipsis_mask, got 0b11, expected at most one bit"),
      row(
          "gather_dtype", [](auto& x) { return gather(x[0], x[1]); },
          "GatherV2: indices, got f32[4], expected integers"),
      row(
          "gather_axis", [](auto& x) { return gather(x[0], x[2], {.axis = 2}); },
          "GatherV2: axis, got 2, expected in [-2, 2)"),
      row(
          "gather_from_nothing", [](auto& x) { return gather(slice(x[1], {0}, {0}), x[2]); },
          "GatherV2: params, got f32[0], expected elements along axis 0, node 'GatherV2' at "
          "array_error_cases.cc:"),
      row(
          "one_hot_depth", [](auto& x) { return one_hot(x[2], -1); },
          "OneHot: depth, got -1, expected >= 0"),
      row(
          "one_hot_dtype", [](auto& x) { return one_hot(x[1], 3); },
          "OneHot: indices, got f32[4], expected integers"),
      row(
          "top_k_k", [](auto& x) { return top_k(x[0], {.k = 4}).values; },
          "TopKV2: k, got 4 for a tensor of f32[2,3], expected at most the size of its last axis"),
      row(
          "range_delta", [](auto&) { return range(0, 3, 0); },
          "Range: delta, got 0, expected another number, node 'range' at array_error_cases.cc:"),
      row(
          "range_rank", [](auto& x) { return range(x[2], 3); },
          "Range: start, limit and delta, got s32[3], s32[] and s32[], expected scalars of one "
          "dtype"),
  };
}

}  // namespace

std::vector<OpCase> array_error_cases() {
  std::vector<OpCase> all;
  for (auto cases : {shape_errors, join_errors, lookup_errors}) {
    for (OpCase& error : cases()) all.push_back(std::move(error));
  }
  return all;
}

}  // namespace systole::graph_testing
