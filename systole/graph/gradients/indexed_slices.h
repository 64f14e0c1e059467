// Gradients that are rows of a table. (tf.IndexedSlices)
//
// A gradient is a tensor for every program that uses it. That of a table which is read by gather()
// along its first axis alone is one that adds rows into zeros (the op GatherGrad), and optimizers
// take its rows: the table-sized tensor is computed only where something else uses it. As in
// TensorFlow, a sum with another kind of gradient and arithmetic on the tensor end that; casts and
// the clipping functions keep it. The gradients that leave the functions of cond and while_loop are
// tensors.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "systole/graph/core/graph.h"

namespace systole {

// values[i] is added to row indices[i].
struct IndexedSlices {
  Output values;   // [n, ...]
  Output indices;  // s32 or s64 [n]
};

// The rows of a gradient; their numbers are those of rows of the table and may repeat. nullopt
// for any other tensor.
std::optional<IndexedSlices> indexed_slices(const Output& gradient);

// Each row once: values of one index are added up in their order. Indices that remain without a
// row are -1, with values that mean nothing.
IndexedSlices sum_duplicates(const IndexedSlices& slices);

// The gradient as rows of which each index has one; any other tensor as it is.
Output without_duplicates(const Output& gradient);

// f(gradient), for f with f(0) = 0 that works on each element: of the rows where there are any.
// Of rows of one index, f is applied to each, as TensorFlow does.
Output map_values(const Output& gradient, const std::function<Output(const Output&)>& f);

// One gradient with the rows of all; nullopt unless all are rows of tables of one shape.
std::optional<Output> joined_slices(std::span<const Output> gradients);

// The gradient with other rows. REQUIRES: indexed_slices(gradient).
Output with_slices(const Output& gradient, const IndexedSlices& slices);

// x [rows, ...] with `values` in place of the rows `indices`, of which those that are -1 are left
// out. REQUIRES: no other index occurs twice.
Output replace_rows(const Output& x, const Output& indices, const Output& values);

// handle's variable gets the values added: row by row, also where indices repeat.
Operation resource_scatter_add(const Output& handle, const IndexedSlices& slices);

// Adds gradient rows into zeros of `params_shape`: the inverse of gather. Internal op GatherGrad.
Output gather_grad(Output gradient, Output indices, Output params_shape, int64_t axis);

}  // namespace systole
