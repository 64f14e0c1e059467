#include "systole/graph/functions/math_functions.h"

#include <cmath>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/op_error.h"

namespace systole {
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

Output div(const Input& x, const Input& y, const NameOptions& options) {
  const NameOptions named{.name = options.name.empty() ? "div" : options.name};
  return is_integer(common_dtype({x, y})) ? floordiv(x, y, named) : realdiv(x, y, named);
}

// The divisor is 1 where it was 0: so is that of the gradient, which 0 then replaces.
Output div_no_nan(const Input& x, const Input& y, const NameOptions& options) {
  const CompositionScope scope(x, options.name, "div_no_nan");
  const DType dtype = common_dtype({x, y});
  const Output divisor = resolve("div_no_nan", y, dtype);
  with_op("div_no_nan", x.where(), [&] { check_dtype("y", dtype, DTypeClass::floating); });
  const Output none = equal(divisor, 0);
  const Output quotient = realdiv(x, where_v2(none, 1, divisor));
  return where_v2(none, 0, quotient, scope.result());
}

Output confusion_matrix(const ConfusionMatrixOptions& options) {
  constexpr std::string_view kOp = "confusion_matrix";
  const CompositionScope scope(options.labels, options.name, kOp);
  const Output labels = resolve(kOp, options.labels);
  const Output predictions = resolve(kOp, options.predictions);
  with_op(kOp, options.labels.where(), [&] {
    if (options.num_classes < 1) {
      throw invalid_argument("num_classes, got {}, expected at least 1", options.num_classes);
    }
    if (is_integer(labels.dtype()) && is_integer(predictions.dtype()) &&
        labels.shape().compatible_with(predictions.shape())) {
      return;
    }
    throw invalid_argument("labels and predictions, got {} and {}, expected integers of one shape",
                           labels.type(), predictions.type());
  });
  const bool wide = options.dtype == DType::f64 || options.weights.dtype() == DType::f64;
  const DType sums = wide ? DType::f64 : DType::f32;
  const Output weights = cast(resolve(kOp, options.weights, sums), sums);
  with_op(kOp, options.labels.where(), [&] {
    if (weights.shape().rank() == 0 || weights.shape().compatible_with(labels.shape())) return;
    throw invalid_argument("weights, got {}, expected one for each of labels {}", weights.type(),
                           labels.type());
  });
  const auto rows = [&](const Output& classes) {
    return one_hot(reshape(classes, {-1}), options.num_classes, {.dtype = sums});
  };
  Output counted = rows(labels);
  if (options.weights.literal() != 1.0) {
    // Chosen, as a weight that is not finite spoils more in a product.
    counted = where_v2(equal(counted, 1), reshape(weights, {-1, 1}), 0);
  }
  const Output counts = matmul(counted, rows(predictions), {.transpose_a = true});
  return cast(counts, options.dtype, scope.result());
}

}  // namespace systole
