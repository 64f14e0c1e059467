// What array_functions.h looks up, adds up and orders by numbers of rows.
#include <algorithm>

#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/set_shape.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/constant_value.h"
#include "systole/graph/core/op_error.h"
#include "systole/graph/functions/array_functions.h"
#include "systole/graph/gradients/indexed_slices.h"
#include "systole/graph/ops/array/array_common.h"

namespace systole {

Output Output::operator[](const SubscriptIndex& position) const {
  return strided_slice(Input(*this, position.where), {position.value}, {position.value + 1},
                       {.shrink_axis_mask = 1});
}

namespace {

// Positions [.., k] in the first k axes of a tensor, as numbers of its slices in row-major order.
struct SliceNumbers {
  Output rows;      // [..], in range
  Output in_range;  // [..], pred
};

SliceNumbers slice_numbers(const Output& indices, const std::vector<Output>& sizes) {
  SliceNumbers result;
  const auto parts = split(indices, static_cast<int64_t>(sizes.size()), {.axis = -1});
  for (size_t i = 0; i < sizes.size(); ++i) {
    const Output given = squeeze(parts[i], {.axis = -1});
    // Narrow indices do not hold the numbers of all slices.
    const Output index = dtype_info(given.dtype()).bits < 32 ? to_int32(given) : given;
    const Output size = cast(sizes[i], index.dtype());
    const Output clipped = maximum(minimum(index, size - 1), 0);
    const Output inside = equal(index, clipped);
    result.rows = i == 0 ? clipped : result.rows * size + clipped;
    result.in_range = i == 0 ? inside : logical_and(result.in_range, inside);
  }
  return result;
}

// k of indices [.., k]. Errors: it is unknown, or not in [1, rank].
int index_depth(const Output& indices, int rank) {
  const int last = indices.shape().rank() - 1;
  if (!is_integer(indices.dtype()) || last < 0) {
    throw invalid_argument("indices, got {}, expected integers of [.., k]", indices.type());
  }
  const int64_t depth = indices.shape()[last];
  if (depth >= 1 && depth <= rank) return static_cast<int>(depth);
  throw invalid_argument("indices, got {}, expected a last axis of size 1 to {}", indices.type(),
                         rank);
}

std::vector<Output> sizes_between(const Output& x, int begin, int end) {
  std::vector<Output> sizes;
  for (int axis = begin; axis < end; ++axis) sizes.push_back(size_at(x, axis));
  return sizes;
}

// x with its first `count` axes as one.
Output first_axes_joined(const Output& x, int count) {
  std::vector<Output> sizes = sizes_between(x, count, x.shape().rank());
  Output rows = int_constant(1);
  for (const Output& size : sizes_between(x, 0, count)) rows = rows * size;
  sizes.insert(sizes.begin(), rows);
  return reshape(x, stack(sizes));
}

// Rows [n, ..] where `kept` [n], else zeros. Select refuses another number of rows, which where_v2
// would repeat.
Output rows_or_zeros(const Output& kept, const Output& rows) {
  return Graph::current()
      .add_node("Select", {kept, rows, zeros_like(rows)}, {{"T", rows.dtype()}})
      ->output();
}

// What scatter_nd takes for each of `indices`: a slice of a tensor of these sizes.
Shape updates_shape(const Output& indices, const Output& sizes, int depth) {
  Dims dims(indices.shape().begin(), indices.shape().end() - 1);
  const std::optional<PartialValue> known = partial_value(sizes);
  for (int64_t i = depth; i < sizes.shape()[0]; ++i) {
    dims.push_back(known ? known->elements[i].value_or(kUnknown) : kUnknown);
  }
  return Shape(dims);
}

}  // namespace

Output gather_nd(const Input& params, const Input& indices, const NameOptions& options) {
  constexpr std::string_view kOp = "GatherNd";
  const CompositionScope scope(params, options.name, kOp);
  const Output x = resolve(kOp, params);
  const Output at = resolve(kOp, indices);
  const int depth = with_op(kOp, params.where(), [&] { return index_depth(at, x.shape().rank()); });
  const SliceNumbers slices = slice_numbers(at, sizes_between(x, 0, depth));
  return gather(first_axes_joined(x, depth), slices.rows, {.axis = 0, .name = scope.result().name});
}

Output scatter_nd(const Input& indices, const Input& updates, const ShapeInput& shape,
                  const NameOptions& options) {
  constexpr std::string_view kOp = "ScatterNd";
  const CompositionScope scope(updates, options.name, kOp);
  const Output at = resolve(kOp, indices);
  const Output values = resolve(kOp, updates);
  const Output sizes = resolve(kOp, shape);
  const int depth = with_op(kOp, updates.where(), [&] {
    if (sizes.shape().rank() != 1 || sizes.shape()[0] == kUnknown) {
      throw invalid_argument("shape, got {}, expected a vector of known length", sizes.type());
    }
    const auto rank = static_cast<int>(sizes.shape()[0]);
    const int k = index_depth(at, rank);
    const Shape wanted = updates_shape(at, sizes, k);
    if (values.shape().compatible_with(wanted)) return k;
    throw invalid_argument("updates, got {} for indices {}, expected {}", values.type(), at.type(),
                           TensorType{values.dtype(), wanted});
  });
  std::vector<Output> all = unstack(sizes, {.num = sizes.shape()[0]});
  const std::vector<Output> first(all.begin(), all.begin() + depth);
  const SliceNumbers slices = slice_numbers(at, first);
  Output count = int_constant(1);
  for (const Output& size : first) count = count * cast(size, DType::s32);
  std::vector<Output> flat = {count};
  for (auto it = all.begin() + depth; it != all.end(); ++it) flat.push_back(cast(*it, DType::s32));
  // The slice of one position is a row, too.
  const int positions = at.shape().rank() - 1;
  const Output rows =
      positions == 0 ? expand_dims(values, 0) : first_axes_joined(values, positions);
  const Output sums = gather_grad(rows_or_zeros(reshape(slices.in_range, {-1}), rows),
                                  reshape(slices.rows, {-1}), stack(flat), 0);
  return reshape(sums, sizes, scope.result());
}

Output reverse_sequence(const Input& input, const Input& seq_lengths,
                        const ReverseSequenceOptions& options) {
  constexpr std::string_view kOp = "ReverseSequence";
  const CompositionScope scope(input, options.name, kOp);
  const Output given = resolve(kOp, input);
  const Output lengths = resolve(kOp, seq_lengths);
  const int rank = given.shape().rank();
  std::vector<int64_t> order;  // the batch's axis, the steps', all others
  with_op(kOp, input.where(), [&] {
    order = {checked_axis(options.batch_axis, rank), checked_axis(options.seq_axis, rank)};
    if (order[0] == order[1]) {
      throw invalid_argument("seq_axis, got {}, expected another one than batch_axis", order[1]);
    }
    const Shape batch{given.shape()[static_cast<int>(order[0])]};
    if (is_integer(lengths.dtype()) && lengths.shape().compatible_with(batch)) return;
    throw invalid_argument("seq_lengths, got {}, expected integers of {}", lengths.type(), batch);
  });
  for (int axis = 0; axis < rank; ++axis) {
    if (std::ranges::find(order, axis) == order.end()) order.push_back(axis);
  }
  const Output x = transpose(given, {.perm = order});
  const Output steps = size_at(x, 1);
  const Output place = range(steps);
  const Output ends = expand_dims(minimum(to_int32(lengths), steps), 1);
  const Output from = where_v2(less(place, ends), ends - 1 - place, place);
  const Output first = expand_dims(range(size_at(x, 0)) * steps, 1);
  const Output moved = gather(first_axes_joined(x, 2), first + from);
  std::vector<int64_t> back(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    back[order[i]] = static_cast<int64_t>(i);
  }
  return set_shape(transpose(moved, {.perm = back, .name = scope.result().name}), given.shape());
}

}  // namespace systole
