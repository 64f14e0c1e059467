// Making, reshaping, joining and cutting tensors. (tensorflow/python/ops/array_ops.py)
//
// All functions add to the current graph; Input is a tensor, a variable, a host tensor or a
// literal. Errors are INVALID_ARGUMENT with the op, the node and the user's line. Shapes may have
// unknown dimensions (-1) throughout.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "systole/graph/api/shape_input.h"
#include "systole/graph/core/axes.h"
#include "systole/graph/core/graph.h"
#include "systole/graph/core/op_options.h"

namespace systole {

// -- Leaves.

struct ConstantOptions {
  DType dtype = DType::invalid;  // the value's own when absent; else it is converted
  std::optional<Shape> shape;    // the value's elements under this shape; a single one fills it
  std::string name = "Const";
};
// A host value as a tensor. Errors: `value` is symbolic; its elements do not fit `shape`.
// (tf.constant)
Output constant(const Input& value, const ConstantOptions& options = {});

// A tensor that every run must be fed; dimensions of -1 take any size. (tf.placeholder)
Output placeholder(DType dtype, const Shape& shape = {}, std::string_view name = "Placeholder",
                   Input::Where where = Input::Where::current());
// With TensorFlow's dtype names: "float", "float32", "tf.int32"...
Output placeholder(std::string_view dtype, const Shape& shape = {},
                   std::string_view name = "Placeholder",
                   Input::Where where = Input::Where::current());

// `value`, a scalar, at every element. (tf.fill)
Output fill(const ShapeInput& dims, const Input& value, const NameOptions& options = {});
// (tf.zeros, tf.ones)
Output zeros(const ShapeInput& shape, DType dtype = DType::f32, std::string_view name = "zeros");
Output ones(const ShapeInput& shape, DType dtype = DType::f32, std::string_view name = "ones");

struct LikeOptions {
  DType dtype = DType::invalid;  // x's when absent
  std::string name = {};
};
// Zeros, ones, of x's shape. No gradient flows. (tf.zeros_like, tf.ones_like)
Output zeros_like(const Input& x, const LikeOptions& options = {});
Output ones_like(const Input& x, const LikeOptions& options = {});

// `input`, unless the run feeds another value of `shape`, whose dimensions of -1 take any size:
// placeholder_with_default(1.0F, {}) is a keep_prob that evaluation need not feed.
// (tf.placeholder_with_default)
Output placeholder_with_default(const Input& input, const Shape& shape,
                                std::string_view name = "PlaceholderWithDefault");

// -- Values as they are.

Output identity(const Input& x, const NameOptions& options = {});
// x, through which no gradient flows.
Output stop_gradient(const Input& x, const NameOptions& options = {});

struct ShapeOptions {
  DType out_type = DType::s32;  // or s64
  std::string name = {};
};
// The sizes of x's dimensions: a vector that is known when the program is compiled. (tf.shape)
Output shape(const Input& x, const ShapeOptions& options = {});

// An operation that does nothing, but waits for the control dependencies in force. (tf.no_op)
Operation no_op(std::string_view name = "NoOp", Input::Where where = Input::Where::current());

// -- Shapes.

// The same elements in row-major order under another shape, one size of which may be -1: what the
// others leave.
Output reshape(const Input& tensor, const ShapeInput& shape, const NameOptions& options = {});
// A new axis of size 1 before `axis`; -1 puts it last. (tf.expand_dims)
Output expand_dims(const Input& input, int64_t axis, const NameOptions& options = {});

struct SqueezeOptions {
  Axes axis = {};  // all axes known to have size 1
  std::string name = {};
};
// Without axes of size 1. Errors: an axis of another known size.
Output squeeze(const Input& input, const SqueezeOptions& options = {});

struct SizeOptions {
  DType out_type = DType::s32;
  std::string name = {};
};
// The number of elements / of axes, as a scalar.
Output size(const Input& input, const SizeOptions& options = {});
Output rank(const Input& input, const NameOptions& options = {});

// x repeated along axes of size 1, and along new leading axes. (tf.broadcast_to)
Output broadcast_to(const Input& input, const ShapeInput& shape, const NameOptions& options = {});

// -- Order.

struct TransposeOptions {
  std::vector<int64_t> perm =
      {};  // result axis i is a's axis perm[i]; all axes reversed when empty
  std::string name = {};
};
Output transpose(const Input& a, const TransposeOptions& options = {});
// The last two axes swapped. (tf.matrix_transpose)
Output matrix_transpose(const Input& a, const NameOptions& options = {});
// The elements in the opposite order along each axis.
Output reverse(const Input& tensor, const Axes& axis, const NameOptions& options = {});

// -- Joining and splitting.

// Concatenates tensors along `axis`; their other dimensions must be equal.
Output concat(const InputList& values, int64_t axis, const NameOptions& options = {});

struct StackOptions {
  int64_t axis = 0;
  std::string name = {};
};
// Tensors of one shape along a new axis.
Output stack(const InputList& values, const StackOptions& options = {});

struct UnstackOptions {
  int64_t num = -1;  // needed when the size of the axis is unknown
  int64_t axis = 0;
  std::string name = {};
};
// The slices along an axis, without it.
std::vector<Output> unstack(const Input& value, const UnstackOptions& options = {});

struct SplitOptions {
  int64_t axis = 0;
  std::string name = {};
};
// `num` equal parts. Errors: a known size that is not divisible; an unknown one fails when the
// program is specialised. Or parts of the given sizes, one of which may be -1.
std::vector<Output> split(const Input& value, int64_t num, const SplitOptions& options = {});
std::vector<Output> split(const Input& value, const std::vector<int64_t>& sizes,
                          const SplitOptions& options = {});

// -- Cutting and padding.

// `size[i]` elements from begin[i] on, along each axis; a size of -1 takes all that remain.
Output slice(const Input& input, const ShapeInput& begin, const ShapeInput& size,
             const NameOptions& options = {});

// Bit i of a mask speaks of the i-th entry of begin, end and strides. (tf.strided_slice)
struct StridedSliceOptions {
  std::vector<int64_t> strides = {};  // ones when empty
  int64_t begin_mask = 0;             // begin is the first element in the stride's direction
  int64_t end_mask = 0;               // end is past the last
  int64_t ellipsis_mask = 0;          // stands for as many whole axes as are left over; at most one
  int64_t new_axis_mask = 0;          // a new axis of size 1
  int64_t shrink_axis_mask = 0;       // the element at begin, without the axis
  std::string name = {};
};
// Elements begin, begin + stride, ... short of end, along each axis; negative positions count from
// the end; positions beyond the axis are cut to it. Python's x[1:, ::2, 0].
Output strided_slice(const Input& input, const std::vector<int64_t>& begin,
                     const std::vector<int64_t>& end, const StridedSliceOptions& options = {});

enum class PadMode { constant, reflect, symmetric };
struct PadOptions {
  PadMode mode = PadMode::constant;
  double constant_values = 0;
  std::string name = {};
};
// `paddings[i]`: elements added before and after axis i. REFLECT mirrors at the edge element,
// SYMMETRIC repeats it.
Output pad(const Input& tensor, const std::vector<std::pair<int64_t, int64_t>>& paddings,
           const PadOptions& options = {});

// The tensor, multiples[i] times along axis i.
Output tile(const Input& input, const ShapeInput& multiples, const NameOptions& options = {});

// -- Looking up.

struct GatherOptions {
  int64_t axis = 0;
  std::string name = {};
};
// The slices of `params` along `axis` that `indices` (integers of any shape) names: indices' shape
// replaces the axis. An index out of range is taken to the nearest in range, as on a TPU;
// TensorFlow on a CPU fails.
Output gather(const Input& params, const Input& indices, const GatherOptions& options = {});

struct OneHotOptions {
  double on_value = 1;
  double off_value = 0;
  int64_t axis = -1;
  DType dtype = DType::f32;
  std::string name = {};
};
// A new axis of size `depth` before `axis`, on_value where its position is the index; all off_value
// for an index out of range.
Output one_hot(const Input& indices, int64_t depth, const OneHotOptions& options = {});

struct TopKOptions {
  int64_t k = 1;
  bool sorted = true;  // TensorFlow's; the result is sorted either way
  std::string name = {};
};
struct TopK {
  Output values;
  Output indices;  // s32
};
// The k largest elements along the last axis, largest first; of equals the one with the lower index
// first. NaN counts as larger than all numbers.
TopK top_k(const Input& input, const TopKOptions& options = {});

// Row i of the result is the sum of the rows of `data` whose segment is i: segment_ids, integers,
// has the first sizes of data; ids out of range are dropped. (tf.unsorted_segment_sum)
Output unsorted_segment_sum(const Input& data, const Input& segment_ids, int64_t num_segments,
                            const NameOptions& options = {});

// -- Sequences.

// start, start + delta, ... short of limit; all known when the program is compiled. (tf.range)
Output range(const Input& start, const Input& limit, const Input& delta = 1,
             const NameOptions& options = {});
// 0, 1, ... short of limit.
Output range(const Input& limit, const NameOptions& options = {});

}  // namespace systole
