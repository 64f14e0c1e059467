#include <algorithm>

#include "systole/graph/array_common.h"
#include "systole/graph/array_ops.h"
#include "systole/graph/axes.h"
#include "systole/graph/node_builder.h"

namespace systole {
namespace {

std::vector<TensorType> infer(const InferContext& c) {
  Shape shape = c.input(0).shape;
  Dims kept;
  const auto& axes = c.attr<std::vector<int64_t>>("squeeze_dims");
  for (int i = 0; i < shape.rank(); ++i) {
    const bool squeezed = std::ranges::find(axes, i) != axes.end();
    if (!squeezed) kept.push_back(shape[i]);
    if (squeezed && shape[i] != 1 && shape[i] != kUnknown) {
      throw invalid_argument("axis {} of {}, got size {}, expected 1", i, shape, shape[i]);
    }
  }
  return {{c.input(0).dtype, Shape(std::move(kept))}};
}

std::vector<hlo::Value> lower(LowerContext& c) {
  const Shape& x = c.input(0).shape();
  const auto& axes = c.attr<std::vector<int64_t>>("squeeze_dims");
  Dims kept;
  for (int i = 0; i < x.rank(); ++i) {
    if (std::ranges::find(axes, i) == axes.end()) kept.push_back(x[i]);
  }
  return {c.b.reshape(c.input(0), Shape(std::move(kept)))};
}

std::vector<Output> gradient(GradientContext& c) { return {reshape(c.grad(), shape(c.input(0)))}; }

}  // namespace

Output squeeze(Input input, const SqueezeOptions& options) {
  const Output value = resolve("Squeeze", input);
  const Shape& x = value.shape();
  std::vector<int64_t> axes;
  if (options.axis.all()) {
    for (int i = 0; i < x.rank(); ++i) {
      if (x[i] == 1) axes.push_back(i);
    }
  } else {
    const Dims given = normalize_axes(options.axis.list(x.rank()), x.rank());
    axes.assign(given.begin(), given.end());
  }
  return add_op("Squeeze", {input}, options.name, {{"squeeze_dims", axes}});
}

namespace ops {
extern const OpDef op_squeeze;
const OpDef op_squeeze{
    .name = "Squeeze",
    .doc = "Without axes of size 1.",
    .infer = infer,
    .lower = lower,
    .gradient = gradient,
};
}  // namespace ops
}  // namespace systole
