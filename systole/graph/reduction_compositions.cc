// Reductions of math_ops.h, and the functions of math_functions.h, that are made of other ops.
#include <cmath>

#include "systole/graph/array_ops.h"
#include "systole/graph/composition.h"
#include "systole/graph/math_functions.h"
#include "systole/graph/math_ops.h"
#include "systole/graph/op_error.h"

namespace systole {
namespace {

Output variance(const Output& x, const ReduceOptions& options) {
  const Output mean = reduce_mean(x, {.axis = options.axis, .keepdims = true});
  return reduce_mean(squared_difference(x, mean), options);
}

}  // namespace

// The largest element is taken out of the sum, so that nothing overflows; where it is infinite, 0
// is, so that inf - inf does not appear.
Output reduce_logsumexp(const Input& input_tensor, const ReduceOptions& options) {
  const CompositionScope scope(input_tensor, options.name, "ReduceLogSumExp");
  const Output x = resolve_as("ReduceLogSumExp", input_tensor, DTypeClass::floating);
  const Output largest = reduce_max(x, {.axis = options.axis, .keepdims = true});
  const Output shift = stop_gradient(where_v2(is_finite(largest), largest, 0));
  const ReduceOptions reduced{.axis = options.axis, .keepdims = options.keepdims};
  // The shift has size 1 along the axes: its sum is itself without them.
  return add(log(reduce_sum(exp(x - shift), reduced)), reduce_sum(shift, reduced), scope.result());
}

Output reduce_variance(const Input& input_tensor, const ReduceOptions& options) {
  const CompositionScope scope(input_tensor, options.name, "reduce_variance");
  const Output x = resolve_as("reduce_variance", input_tensor, DTypeClass::floating);
  return variance(x, {options.axis, options.keepdims, scope.result().name});
}

Output reduce_std(const Input& input_tensor, const ReduceOptions& options) {
  const CompositionScope scope(input_tensor, options.name, "reduce_std");
  const Output x = resolve_as("reduce_std", input_tensor, DTypeClass::floating);
  return sqrt(variance(x, {.axis = options.axis, .keepdims = options.keepdims}), scope.result());
}

// -- math_functions.h

namespace {

// The gradient of a root is infinite at 0: there a constant takes its place.
Output euclidean_norm(const Output& x, const ReduceOptions& options) {
  const Output total = reduce_sum(square(x), options);
  const Output positive = greater(total, 0);
  return where_v2(positive, sqrt(where_v2(positive, total, 1)), total);
}

}  // namespace

Output norm(const Input& tensor, const NormOptions& options) {
  const CompositionScope scope(tensor, options.name, "norm");
  const Output x = resolve_as("norm", tensor, DTypeClass::floating);
  with_op("norm", tensor.where(), [&] {
    if (!(options.ord > 0)) {
      throw invalid_argument("ord, got {}, expected a number above 0", options.ord);
    }
    const bool of_matrices = !options.axis.all() && options.axis.list(x.shape().rank()).size() > 1;
    if (of_matrices && options.ord != 2) {
      throw unimplemented("ord over several axes, got {}, expected 2", options.ord);
    }
  });
  const ReduceOptions reduced{.axis = options.axis, .keepdims = options.keepdims};
  const auto named = [&](const Output& y) { return identity(y, scope.result()); };
  if (options.ord == 2) return named(euclidean_norm(x, reduced));
  if (options.ord == 1) return named(reduce_sum(abs(x), reduced));
  if (std::isinf(options.ord)) return named(reduce_max(abs(x), reduced));
  return named(pow(reduce_sum(pow(abs(x), options.ord), reduced), 1 / options.ord));
}

Output count_nonzero(const Input& input_tensor, const CountNonzeroOptions& options) {
  const CompositionScope scope(input_tensor, options.name, "count_nonzero");
  const Output x = resolve("count_nonzero", input_tensor);
  const Output ones = to_int64(x.dtype() == DType::pred ? x : not_equal(x, 0));
  return cast(reduce_sum(ones, {.axis = options.axis, .keepdims = options.keepdims}), options.dtype,
              scope.result());
}

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

// The last fraction is 1 to the bit, and so the last value `stop`.
Output linspace(const Input& start, const Input& stop, int64_t num, const NameOptions& options) {
  const CompositionScope scope(start, options.name, "linspace");
  const DType dtype = common_dtype({start, stop});
  const Output first = resolve("linspace", start, dtype);
  const Output last = resolve("linspace", stop, dtype);
  with_op("linspace", start.where(), [&] {
    check_dtype("start", dtype, DTypeClass::floating);
    if (num < 1) throw invalid_argument("num, got {}, expected at least 1", num);
  });
  if (num == 1) return reshape(first, {1}, scope.result());
  const Output fraction = cast(range(num), dtype) / static_cast<double>(num - 1);
  return add(first * (1 - fraction), last * fraction, scope.result());
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

}  // namespace systole
