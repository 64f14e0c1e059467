// Making, reshaping, joining and cutting tensors. (tensorflow/python/ops/array_ops.py)
//
// All functions add to the current graph; Input is a tensor, a variable, a host tensor or a
// literal. Errors are INVALID_ARGUMENT with the op, the node and the user's line. Shapes may have
// unknown dimensions (-1) throughout.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "systole/graph/graph.h"
#include "systole/graph/op_options.h"
#include "systole/graph/shape_input.h"

namespace systole {

// -- Leaves.

struct ConstantOptions {
  DType dtype = DType::invalid;  // the value's own when absent; else it is converted
  std::optional<Shape> shape;    // the value's elements under this shape; a single one fills it
  std::string name = "Const";
};
// A host value as a tensor. Errors: `value` is symbolic; its elements do not fit `shape`.
// (tf.constant)
Output constant(Input value, const ConstantOptions& options = {});

// A tensor that every run must be fed; dimensions of -1 take any size. (tf.placeholder)
Output placeholder(DType dtype, const Shape& shape = {}, std::string_view name = "Placeholder",
                   Input::Where where = Input::Where::current());
// With TensorFlow's dtype names: "float", "float32", "tf.int32"...
Output placeholder(std::string_view dtype, const Shape& shape = {},
                   std::string_view name = "Placeholder",
                   Input::Where where = Input::Where::current());

// `value`, a scalar, at every element. (tf.fill)
Output fill(const ShapeInput& dims, Input value, const NameOptions& options = {});
// (tf.zeros, tf.ones)
Output zeros(const ShapeInput& shape, DType dtype = DType::f32, std::string_view name = "zeros");
Output ones(const ShapeInput& shape, DType dtype = DType::f32, std::string_view name = "ones");

struct LikeOptions {
  DType dtype = DType::invalid;  // x's when absent
  std::string name = "";
};
// Zeros, ones, of x's shape. No gradient flows. (tf.zeros_like, tf.ones_like)
Output zeros_like(Input x, const LikeOptions& options = {});
Output ones_like(Input x, const LikeOptions& options = {});

// -- Values as they are.

Output identity(Input x, const NameOptions& options = {});
// x, through which no gradient flows.
Output stop_gradient(Input x, const NameOptions& options = {});

struct ShapeOptions {
  DType out_type = DType::s32;  // or s64
  std::string name = "";
};
// The sizes of x's dimensions: a vector that is known when the program is compiled. (tf.shape)
Output shape(Input x, const ShapeOptions& options = {});

// An operation that does nothing, but waits for the control dependencies in force. (tf.no_op)
Operation no_op(std::string_view name = "NoOp", Input::Where where = Input::Where::current());

}  // namespace systole
