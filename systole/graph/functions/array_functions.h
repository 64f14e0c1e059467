// Tensors of a pattern, and the movement of elements that is made of the ops of array_ops.h.
// (tensorflow/python/ops/array_ops.py, linalg_ops.py)
//
// Errors are INVALID_ARGUMENT with the function's name and the user's line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "systole/graph/api/array_ops.h"

namespace systole {

// -- Patterns.

struct EyeOptions {
  std::optional<int64_t> num_columns = std::nullopt;  // num_rows when absent
  DType dtype = DType::f32;
  std::string name = {};
};
// Ones on the diagonal, else zeros: [num_rows, num_columns]. (tf.eye)
Output eye(int64_t num_rows, const EyeOptions& options = {},
           Input::Where where = Input::Where::current());

struct SequenceMaskOptions {
  DType dtype = DType::pred;
  std::string name = {};
};
// lengths: integers of any shape; result: [lengths' shape, maxlen], true before each length.
// Errors: INVALID_ARGUMENT for another dtype, and maxlen below 0. (tf.sequence_mask)
Output sequence_mask(const Input& lengths, int64_t maxlen, const SequenceMaskOptions& options = {});

struct MeshgridOptions {
  std::string indexing = "xy";  // or "ij"
  std::string name = {};
};
// The coordinates of a grid, a tensor of all vectors' sizes for each vector; "xy" has the second
// vector's size first. (tf.meshgrid)
std::vector<Output> meshgrid(const InputList& vectors, const MeshgridOptions& options = {});

// -- Matrices: the last two axes.

// What lies at most `num_lower` below and `num_upper` above the diagonal, else 0; a negative number
// keeps all on its side: (x, -1, 0) is the lower triangle. (tf.matrix_band_part)
Output matrix_band_part(const Input& input, int64_t num_lower, int64_t num_upper,
                        const NameOptions& options = {});
// [.., n] -> [.., n, n] with the vectors on the diagonals, else 0. (tf.matrix_diag; tf.diag of a
// vector)
Output matrix_diag(const Input& diagonal, const NameOptions& options = {});
Output diag(const Input& diagonal, const NameOptions& options = {});
// [.., m, n] of known sizes -> [.., min(m, n)], the diagonals. (tf.matrix_diag_part; tf.diag_part
// of a matrix)
Output matrix_diag_part(const Input& input, const NameOptions& options = {});
Output diag_part(const Input& input, const NameOptions& options = {});
// The sums of the diagonals. (tf.trace)
Output trace(const Input& x, const NameOptions& options = {});

// -- Looking up and adding up.

// indices: integers [.., k], each the position of an element, or of a slice where k is less than
// the rank of `params`: [.., the sizes of a slice]. Positions out of range are taken to the nearest
// in range, as gather does. (tf.gather_nd)
Output gather_nd(const Input& params, const Input& indices, const NameOptions& options = {});
// Zeros of `shape` with the updates, [.., the sizes of a slice], added at such positions; what is
// out of range is dropped. (tf.scatter_nd)
Output scatter_nd(const Input& indices, const Input& updates, const ShapeInput& shape,
                  const NameOptions& options = {});
// -- Order.

struct ReverseSequenceOptions {
  int64_t seq_axis = 1;
  int64_t batch_axis = 0;
  std::string name = {};
};
// The first seq_lengths[i] steps of example i in the opposite order, the others where they were.
// (tf.reverse_sequence)
Output reverse_sequence(const Input& input, const Input& seq_lengths,
                        const ReverseSequenceOptions& options = {});

// [batch, height, width, channels * block^2] <-> [batch, height * block, width * block, channels];
// channels of a known number. (tf.depth_to_space, tf.space_to_depth)
Output depth_to_space(const Input& input, int64_t block_size, const NameOptions& options = {});
Output space_to_depth(const Input& input, int64_t block_size, const NameOptions& options = {});

}  // namespace systole
