#include "systole/graph/api/array_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/ops/array/array_common.h"

namespace systole {
namespace {

enum : int { kOneHotIndices, kOneHotDepth, kOneHotOn, kOneHotOff };

int hot_axis(const AttrMap& attrs, int rank) {
  return checked_axis(std::get<int64_t>(attrs.find("axis")->second), rank + 1);
}

std::vector<TensorType> infer_one_hot(const InferContext& c) {
  const TensorType& indices = c.input(kOneHotIndices);
  if (!is_integer(indices.dtype))
    throw invalid_argument("indices, got {}, expected integers", indices);
  const int64_t depth = known_ints(c, kOneHotDepth, "depth").at(0);
  if (depth < 0) throw invalid_argument("depth, got {}, expected >= 0", depth);
  return {{c.input(kOneHotOn).dtype,
           with_axis(indices.shape, hot_axis(c.attrs, indices.shape.rank()), depth)}};
}

std::vector<hlo::Value> lower_one_hot(LowerContext& c) {
  hlo::Builder& b = c.b;
  const hlo::Value indices = wide_integers(b, c.input(kOneHotIndices));
  const int axis = hot_axis(c.node.attrs(), indices.shape().rank());
  const Shape shape = with_axis(indices.shape(), axis, c.constant_ints(kOneHotDepth).at(0));
  Dims axes;
  for (int i = 0; i < indices.shape().rank(); ++i) axes.push_back(i < axis ? i : i + 1);
  const hlo::Value spread = b.broadcast_in_dim(indices, shape, axes);
  const hlo::Value hot =
      b.compare(spread, b.iota({indices.dtype(), shape}, axis), hlo::ComparisonDirection::eq);
  return {b.select(hot, b.broadcast(c.input(kOneHotOn), shape),
                   b.broadcast(c.input(kOneHotOff), shape))};
}

BatchResults batch_one_hot(const BatchContext& c) {
  if (!c.only_first_batched()) return std::nullopt;
  return batch_axis_attr(c);
}

}  // namespace

Output one_hot(const Input& indices, int64_t depth, const OneHotOptions& options) {
  const CompositionScope scope(indices, options.name, "one_hot");
  const Output ids = resolve("OneHot", indices);
  const auto value = [&](double v, const char* name) {
    return constant(Tensor::full(options.dtype, {}, v), {.name = name});
  };
  return Graph::current()
      .add_node("OneHot",
                {ids, int_constant(depth, "depth"), value(options.on_value, "on_value"),
                 value(options.off_value, "off_value")},
                {{"T", options.dtype}, {"TI", ids.dtype()}, {"axis", options.axis}}, {},
                scope.result().name)
      ->output();
}

namespace ops {
extern const OpDef op_one_hot{
    .name = "OneHot",
    .doc = "A new axis that is on at the index.",
    .inputs = "indices: TI, depth: int32, on_value: T, off_value: T",
    .outputs = "output: T",
    .attrs = "axis: int = -1",
    .infer = infer_one_hot,
    .lower = lower_one_hot,
    .batch = {.rule = batch_one_hot},
    .traits = {.blocks_gradient = true},
};
}  // namespace ops
}  // namespace systole
