// Patterns, matrices and blocks of array_functions.h.
#include "systole/graph/functions/array_functions.h"

#include <algorithm>
#include <limits>

#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/op_error.h"
#include "systole/graph/ops/array/array_common.h"

namespace systole {

// -- Patterns

Output eye(int64_t num_rows, const EyeOptions& options, Input::Where where) {
  const CompositionScope scope(SourceLocation(where), options.name, "eye");
  const int64_t num_columns = options.num_columns.value_or(num_rows);
  if (num_rows < 0 || num_columns < 0) {
    throw at_line(
        invalid_argument("eye: sizes, got {} and {}, expected 0 or more", num_rows, num_columns),
        {});
  }
  const Output diagonal = equal(expand_dims(range(num_rows), 1), range(num_columns));
  return cast(diagonal, options.dtype, scope.result());
}

Output sequence_mask(const Input& lengths, int64_t maxlen, const SequenceMaskOptions& options) {
  const CompositionScope scope(lengths, options.name, "SequenceMask");
  const Output ends = resolve("sequence_mask", lengths);
  with_op("sequence_mask", lengths.where(), [&] {
    if (!is_integer(ends.dtype())) {
      throw invalid_argument("lengths, got {}, expected integers", ends.type());
    }
    if (maxlen < 0) throw invalid_argument("maxlen, got {}, expected 0 or more", maxlen);
  });
  // In s64, whatever the lengths are: theirs may be too narrow for maxlen.
  const Output places = to_int64(range(maxlen));
  return cast(less(places, expand_dims(to_int64(ends), -1)), options.dtype, scope.result());
}

std::vector<Output> meshgrid(const InputList& vectors, const MeshgridOptions& options) {
  const std::vector<Output> given = vectors.resolve();
  const SourceLocation where = given.empty() ? SourceLocation() : vectors.inputs().front().where();
  const CompositionScope scope(where, options.name, "meshgrid");
  with_op("meshgrid", where, [&] {
    if (options.indexing != "xy" && options.indexing != "ij") {
      throw invalid_argument("indexing, got '{}', expected 'xy' or 'ij'", options.indexing);
    }
    for (const Output& vector : given) {
      if (vector.shape().rank() != 1) {
        throw invalid_argument("vectors, got {}, expected a vector", vector.type());
      }
    }
  });
  const auto rank = given.size();
  const bool swapped = options.indexing == "xy" && rank > 1;
  const auto axis_of = [&](size_t i) { return swapped && i < 2 ? 1 - i : i; };
  std::vector<Output> sizes(rank);
  for (size_t i = 0; i < rank; ++i) sizes[axis_of(i)] = size(given[i]);
  std::vector<Output> grids;
  for (size_t i = 0; i < rank; ++i) {
    std::vector<int64_t> along(rank, 1);
    along[axis_of(i)] = -1;
    grids.push_back(broadcast_to(reshape(given[i], along), stack(sizes)));
  }
  return grids;
}

// -- Matrices

namespace {

Output resolve_matrices(std::string_view op, const Input& input, int rank = 2) {
  const Output x = resolve(op, input);
  if (x.shape().rank() >= rank) return x;
  throw at_line(invalid_argument("{}: input, got {}, expected rank {} or more", op, x.type(), rank),
                input.where());
}

// How far each element of the last two axes is below the diagonal: [m, n] of s32.
Output below_diagonal(const Output& x) {
  const int rank = x.shape().rank();
  return expand_dims(range(size_at(x, rank - 2)), 1) - range(size_at(x, rank - 1));
}

Output only_diagonal(const Output& x) {
  return where_v2(equal(below_diagonal(x), 0), x, zeros({}, x.dtype()));
}

}  // namespace

Output matrix_band_part(const Input& input, int64_t num_lower, int64_t num_upper,
                        const NameOptions& options) {
  const CompositionScope scope(input, options.name, "MatrixBandPart");
  const Output x = resolve_matrices("MatrixBandPart", input);
  const Output below = below_diagonal(x);
  const auto at_most = [](int64_t number) {
    constexpr int64_t kAll = std::numeric_limits<int32_t>::max();
    return int_constant(std::min(number, kAll));
  };
  Output kept = ones({}, DType::pred);
  if (num_lower >= 0) kept = logical_and(kept, less_equal(below, at_most(num_lower)));
  if (num_upper >= 0) kept = logical_and(kept, less_equal(-below, at_most(num_upper)));
  return where_v2(kept, x, zeros({}, x.dtype()), scope.result());
}

Output matrix_diag(const Input& diagonal, const NameOptions& options) {
  const CompositionScope scope(diagonal, options.name, "MatrixDiag");
  const Output x = resolve_matrices("MatrixDiag", diagonal, 1);
  const Output places = range(size_at(x, x.shape().rank() - 1));
  return where_v2(equal(expand_dims(places, 1), places), expand_dims(x, -1), zeros({}, x.dtype()),
                  scope.result());
}

Output diag(const Input& diagonal, const NameOptions& options) {
  const Output x = resolve("Diag", diagonal);
  if (x.shape().rank() == 1) {
    return matrix_diag(diagonal, {.name = options.name.empty() ? "Diag" : options.name});
  }
  throw at_line(invalid_argument("Diag: diagonal, got {}, expected a vector", x.type()),
                diagonal.where());
}

Output matrix_diag_part(const Input& input, const NameOptions& options) {
  constexpr std::string_view kOp = "MatrixDiagPart";
  const CompositionScope scope(input, options.name, kOp);
  const Output x = resolve_matrices(kOp, input);
  const int rank = x.shape().rank();
  const int64_t rows = x.shape()[rank - 2];
  const int64_t columns = x.shape()[rank - 1];
  if (rows == kUnknown || columns == kUnknown) {
    throw at_line(
        invalid_argument("{}: input, got {}, expected matrices of a known size", kOp, x.type()),
        input.where());
  }
  return reduce_sum(only_diagonal(x),
                    {.axis = rows <= columns ? -1 : -2, .name = scope.result().name});
}

Output diag_part(const Input& input, const NameOptions& options) {
  const Output x = resolve("DiagPart", input);
  if (x.shape().rank() == 2) {
    return matrix_diag_part(input, {.name = options.name.empty() ? "DiagPart" : options.name});
  }
  throw at_line(invalid_argument("DiagPart: input, got {}, expected a matrix", x.type()),
                input.where());
}

Output trace(const Input& x, const NameOptions& options) {
  const CompositionScope scope(x, options.name, "Trace");
  const Output matrices = resolve_matrices("Trace", x);
  return reduce_sum(only_diagonal(matrices), {.axis = {-2, -1}, .name = scope.result().name});
}

// -- Blocks of pixels

namespace {

struct Pixels {
  Output value;
  Output batch, height, width;
  int64_t channels = 0;
};

Pixels pixels_of(std::string_view op, const Input& input, int64_t block_size) {
  const Output x = resolve(op, input);
  with_op(op, input.where(), [&] {
    if (block_size < 2)
      throw invalid_argument("block_size, got {}, expected 2 or more", block_size);
    if (x.shape().rank() == 4 && x.shape()[3] != kUnknown) return;
    throw invalid_argument("input, got {}, expected [batch, height, width, channels]", x.type());
  });
  return {x, size_at(x, 0), size_at(x, 1), size_at(x, 2), x.shape()[3]};
}

}  // namespace

Output depth_to_space(const Input& input, int64_t block_size, const NameOptions& options) {
  constexpr std::string_view kOp = "DepthToSpace";
  const CompositionScope scope(input, options.name, kOp);
  const Pixels x = pixels_of(kOp, input, block_size);
  const auto block = static_cast<int>(block_size);
  if (x.channels % (block_size * block_size) != 0) {
    throw at_line(invalid_argument("{}: channels, got {}, expected a multiple of {}", kOp,
                                   x.channels, block_size * block_size),
                  input.where());
  }
  const auto depth = static_cast<int>(x.channels / (block_size * block_size));
  const Output parts = reshape(x.value, stack({x.batch, x.height, x.width, block, block, depth}));
  const Output pixels = transpose(parts, {.perm = {0, 1, 3, 2, 4, 5}});
  return reshape(pixels, stack({x.batch, x.height * block, x.width * block, depth}),
                 scope.result());
}

Output space_to_depth(const Input& input, int64_t block_size, const NameOptions& options) {
  constexpr std::string_view kOp = "SpaceToDepth";
  const CompositionScope scope(input, options.name, kOp);
  const Pixels x = pixels_of(kOp, input, block_size);
  for (const int axis : {1, 2}) {
    const int64_t known = x.value.shape()[axis];
    if (known == kUnknown || known % block_size == 0) continue;
    throw at_line(invalid_argument("{}: input, got {}, expected sizes that {} divides", kOp,
                                   x.value.type(), block_size),
                  input.where());
  }
  const auto block = static_cast<int>(block_size);
  const auto depth = static_cast<int>(x.channels);
  const Output height = floordiv(x.height, block);
  const Output width = floordiv(x.width, block);
  const Output parts = reshape(x.value, stack({x.batch, height, block, width, block, depth}));
  const Output blocks = transpose(parts, {.perm = {0, 1, 3, 2, 4, 5}});
  return reshape(blocks, stack({x.batch, height, width, block * block * depth}), scope.result());
}

}  // namespace systole
