#include "systole/graph/array_common.h"
#include "systole/graph/array_ops.h"
#include "systole/graph/math_ops.h"
#include "systole/graph/mirror_pad.h"
#include "systole/graph/node_builder.h"
#include "systole/graph/where_scope.h"

namespace systole {
namespace {

enum : int { kInput, kPaddings, kValue };

std::vector<TensorType> infer(const InferContext& c) {
  const Shape& x = c.input(kInput).shape;
  if (c.input(kPaddings).shape != Shape{x.rank(), 2}) {
    throw invalid_argument("paddings, got {} for a tensor of {}, expected [{},2]", c.input(kPaddings), x, x.rank());
  }
  const auto paddings = c.constant_input(kPaddings);
  Shape result = x;
  for (int i = 0; i < x.rank(); ++i) {
    const bool known = paddings && x[i] != kUnknown;
    const auto at = [&](int side) { return static_cast<int64_t>(paddings->as_double(2 * i + side)); };
    if (paddings && (at(0) < 0 || at(1) < 0)) {
      throw invalid_argument("paddings of axis {}, got {} and {}, expected >= 0", i, at(0), at(1));
    }
    result.set_dim(i, known ? x[i] + at(0) + at(1) : kUnknown);
  }
  return {{c.input(kInput).dtype, result}};
}

std::vector<hlo::Value> lower(LowerContext& c) {
  const std::vector<int64_t> paddings = c.constant_ints(kPaddings);
  Dims low;
  Dims high;
  for (size_t i = 0; i < paddings.size(); i += 2) {
    low.push_back(paddings[i]);
    high.push_back(paddings[i + 1]);
  }
  return {c.b.pad(c.input(kInput), c.input(kValue), low, high)};
}

std::vector<Output> gradient(GradientContext& c) {
  const Output paddings = c.input(kPaddings);
  const int rank = c.input(kInput).shape().rank();
  const Output before = reshape(slice(paddings, {0, 0}, {rank, 1}), {rank});
  const Output inner = slice(c.grad(), before, cast(shape(c.input(kInput)), paddings.dtype()));
  return {inner, {}, subtract(reduce_sum(c.grad()), reduce_sum(inner))};
}

Output paddings_constant(const std::vector<std::pair<int64_t, int64_t>>& paddings) {
  std::vector<int32_t> flat;
  for (const auto& [low, high] : paddings) {
    flat.push_back(static_cast<int32_t>(low));
    flat.push_back(static_cast<int32_t>(high));
  }
  return constant(Tensor::of<int32_t>({static_cast<int64_t>(paddings.size()), 2}, flat));
}

}  // namespace

Output pad(Input tensor, const std::vector<std::pair<int64_t, int64_t>>& paddings, const PadOptions& options) {
  const WhereScope line(tensor.where());
  const Output x = resolve("PadV2", tensor);
  if (options.mode != PadMode::constant) return mirror_pad(x, paddings, options);
  return pad_tensor(x, paddings_constant(paddings), options.constant_values, options.name);
}

Output pad_tensor(Output x, Output paddings, double value, const std::string& name) {
  const Output filler = constant(Tensor::full(x.dtype(), {}, value));
  return Graph::current().add_node("PadV2", {x, paddings, filler}, {{"T", x.dtype()}}, {}, name)->output();
}

namespace ops {
extern const OpDef op_pad;
const OpDef op_pad{
    .name = "PadV2",
    .doc = "A value put around the tensor.",
    .infer = infer,
    .lower = lower,
    .gradient = gradient,
};
}  // namespace ops
}  // namespace systole
