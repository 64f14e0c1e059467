#include <algorithm>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/axes.h"
#include "systole/graph/core/constant_value.h"
#include "systole/graph/core/graph_def_node.h"
#include "systole/graph/core/op_error.h"
#include "systole/graph/ops/array/array_common.h"

namespace systole {
namespace {

std::vector<TensorType> infer_squeeze(const InferContext& c) {
  const auto& axes = c.attr<std::vector<int64_t>>("squeeze_dims");
  return {{c.input(0).dtype, squeezed(c.input(0).shape, axes)}};
}

std::vector<hlo::Value> lower_squeeze(LowerContext& c) {
  const auto& axes = c.attr<std::vector<int64_t>>("squeeze_dims");
  return {c.b.reshape(c.input(0), squeezed(c.input(0).shape(), axes))};
}

std::vector<Output> squeeze_gradient(GradientContext& c) {
  return {reshape(c.grad(), shape(c.input(0)))};
}

BatchResults batch_squeeze(const BatchContext& c) {
  std::vector<int64_t> axes = c.node.attr<std::vector<int64_t>>("squeeze_dims");
  const Shape element = c.element_shape(0);
  const bool all = axes.empty();
  for (int i = 0; i < element.rank() && all; ++i) {
    if (element[i] == 1) axes.push_back(i);
  }
  if (axes.empty()) return std::vector{c.inputs[0].value};
  AttrMap attrs = c.attrs;
  attrs["squeeze_dims"] = axes_after_batch(axes);
  return c.rebuild(c.values(), std::move(attrs));
}

// Without axes in the attribute, all of size 1.
std::vector<Output> import_squeeze(const ImportContext& c) {
  SqueezeOptions options{.name = std::string(c.name)};
  const auto& axes = c.attr<std::vector<int64_t>>("squeeze_dims");
  if (!axes.empty()) options.axis = axes;
  return {squeeze(c.input(0), options)};
}

}  // namespace

Output squeeze(const Input& input, const SqueezeOptions& options) {
  const Output value = resolve("Squeeze", input);
  const Shape& x = value.shape();
  std::vector<int64_t> axes;
  if (options.axis.all()) {
    for (int i = 0; i < x.rank(); ++i) {
      if (x[i] == 1) axes.push_back(i);
    }
  } else {
    const Dims given = with_op("Squeeze", input.where(), [&] {
      return normalize_axes(options.axis.list(x.rank()), x.rank());
    });
    axes.assign(given.begin(), given.end());
  }
  // No axes in the attribute would mean all of size 1 to TensorFlow, those that turn out to be so
  // too.
  if (axes.empty()) {
    return identity(input, {.name = options.name.empty() ? "Squeeze" : options.name});
  }
  const AttrMap attrs{{"T", value.dtype()}, {"squeeze_dims", axes}};
  return Graph::current()
      .add_node("Squeeze", {value}, attrs, input.where(), options.name)
      ->output();
}

namespace ops {
extern const OpDef op_squeeze{
    .name = "Squeeze",
    .doc = "Without axes of size 1.",
    .inputs = "input: T",
    .outputs = "output: T",
    .attrs = "squeeze_dims: list(int) = []",
    .graph_def = {.import_node = import_squeeze},
    .infer = infer_squeeze,
    .lower = lower_squeeze,
    .gradient = squeeze_gradient,
    .constant_rule = same_elements,
    .batch = {.rule = batch_squeeze},
    .traits = {.moves_elements = true, .passes_on = PassesOn::elements},
};
}  // namespace ops
}  // namespace systole
