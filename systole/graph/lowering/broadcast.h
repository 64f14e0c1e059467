// NumPy broadcasting: of shapes that may be partly unknown, of HLO values, and backwards for
// gradients.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "systole/graph/core/op_def.h"

namespace systole {

// The shape of x and y broadcast against each other: trailing axes are aligned, sizes of 1 expand.
// An unknown size against 1 or another unknown one stays unknown; against n > 1 it is taken to be
// n. Errors: INVALID_ARGUMENT `shapes, got [2,3] and [4], expected shapes that broadcast`.
Shape broadcast_shapes(const Shape& x, const Shape& y);

// The node's two inputs at their common shape. Errors: as broadcast_shapes, after the op's name.
std::pair<hlo::Value, hlo::Value> broadcast_operands(LowerContext& c);

// x summed down to `shape`, an integer vector that broadcasts to x's shape: over the axes that
// `shape` lacks and those where it has 1 and x has not. What undoes a broadcast in a gradient. No
// TensorFlow op does this alone: there it is BroadcastGradientArgs, Sum and Reshape.
Output sum_to_shape(const Input& x, const Input& shape);

// `gradient`, whose shape x's broadcasts to, summed down to x's shape; itself when that is the same
// for sure.
Output sum_to_shape_of(Output gradient, Output x);

// sum_to_shape_of for the two inputs of a broadcasting op.
std::vector<Output> broadcast_gradients(GradientContext& c, Output for_x, Output for_y);

// `value`, which is x reduced over `axes` (normalised, ascending), at every element of x that was
// reduced into it.
Output expand_reduced(Output value, Output x, const Dims& axes, bool keepdims);

}  // namespace systole
