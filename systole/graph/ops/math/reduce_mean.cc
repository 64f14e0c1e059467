#include "systole/graph/api/array_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/unranked.h"
#include "systole/graph/ops/math/reduction.h"

namespace systole {
namespace {

// What sums are taken and divided in: integers do not wrap where their mean would fit.
DType mean_dtype(DType dtype) {
  if (is_integer(dtype)) return dtype_info(dtype).is_signed ? DType::s64 : DType::u64;
  return accumulation_dtype(dtype);
}

int64_t num_reduced(const Shape& shape, const Dims& axes) {
  int64_t count = 1;
  for (const int64_t axis : axes) count *= shape[static_cast<int>(axis)];
  return count;
}

std::vector<hlo::Value> lower_reduce_mean(LowerContext& c) {
  const hlo::Value x = c.input(0);
  const Dims axes = reduction_axes(c);
  const hlo::Value wide = c.b.convert(x, mean_dtype(x.dtype()));
  const hlo::Value sum = lower_reduce(c.b, wide, hlo::Opcode::add, axes);
  const auto count = static_cast<double>(num_reduced(x.shape(), axes));
  const hlo::Value mean = c.b.divide(sum, c.b.splat_like(sum, count));
  return {keep_reduced_axes(c, c.b.convert(mean, x.dtype()))};
}

// How many elements of x fall into one of the result, in a dtype that holds it.
Output num_reduced(GradientContext& c, const Dims& axes) {
  const Output x = c.input(0);
  const DType wide = accumulation_dtype(x.dtype());
  bool known = !is_unranked(x);
  for (const int64_t axis : axes) known = known && x.shape()[static_cast<int>(axis)] != kUnknown;
  if (known) {
    return constant(static_cast<double>(num_reduced(x.shape(), axes)), {.dtype = wide});
  }
  const auto size = [&](const Output& of) {
    return cast(reduce_prod(shape(of, {.out_type = DType::s64})), wide);
  };
  return size(x) / size(c.output());
}

std::vector<Output> reduce_mean_gradient(GradientContext& c) {
  const Output share =
      cast(c.grad(), accumulation_dtype(c.grad().dtype())) / num_reduced(c, reduction_axes(c));
  return {expand_reduced(c, cast(share, c.grad().dtype())), Output()};
}

}  // namespace

Output reduce_mean(const Input& input_tensor, const ReduceOptions& options) {
  return reduction_op("Mean", input_tensor, options);
}

namespace ops {
extern const OpDef op_reduce_mean{
    .name = "Mean",
    .doc = "The mean over axes.",
    .inputs = "input: T, reduction_indices: Tidx",
    .outputs = "output: T",
    .attrs = "keep_dims: bool = false",
    .infer = infer_reduction<DTypeClass::number>,
    .lower = lower_reduce_mean,
    .gradient = reduce_mean_gradient,
    .batch = {.rule = batch_axes_input},
};
}  // namespace ops
}  // namespace systole
