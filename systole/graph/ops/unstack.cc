#include "systole/graph/array_common.h"
#include "systole/graph/array_ops.h"
#include "systole/graph/node_builder.h"

namespace systole {
namespace {

std::vector<TensorType> infer(const InferContext& c) {
  const Shape& x = c.input(0).shape;
  const int axis = checked_axis(c.attr<int64_t>("axis"), x.rank());
  const int64_t num = c.attr<int64_t>("num");
  if (num < 0) throw invalid_argument("num of axis {} of {}, got an unknown size, expected .num to give it", axis, x);
  if (x[axis] != kUnknown && x[axis] != num) {
    throw invalid_argument("num, got {}, expected {} as axis {} of {} has", num, x[axis], axis, x);
  }
  return std::vector<TensorType>(static_cast<size_t>(num), {c.input(0).dtype, without_axis(x, axis)});
}

std::vector<hlo::Value> lower(LowerContext& c) {
  const Shape& x = c.input(0).shape();
  const int axis = checked_axis(c.attr<int64_t>("axis"), x.rank());
  if (x[axis] != c.attr<int64_t>("num")) {
    throw invalid_argument("Unpack: axis {} of {}, got size {}, expected {}", axis, x, x[axis], c.attr<int64_t>("num"));
  }
  std::vector<hlo::Value> results;
  for (int64_t i = 0; i < x[axis]; ++i) {
    Dims start(static_cast<size_t>(x.rank()), 0);
    Dims limit = x.dims();
    start[static_cast<size_t>(axis)] = i;
    limit[static_cast<size_t>(axis)] = i + 1;
    results.push_back(c.b.reshape(c.b.slice(c.input(0), start, limit), without_axis(x, axis)));
  }
  return results;
}

std::vector<Output> gradient(GradientContext& c) {
  std::vector<Output> slices;
  for (int i = 0; i < c.node.num_outputs(); ++i) slices.push_back(c.grad(i));
  return {stack(slices, {.axis = c.attr<int64_t>("axis")})};
}

}  // namespace

std::vector<Output> unstack(Input value, const UnstackOptions& options) {
  const Output x = resolve("Unpack", value);
  int64_t num = options.num;
  if (num < 0 && x.shape().rank() > 0) num = x.shape()[checked_axis(options.axis, x.shape().rank())];
  Node* const node = Graph::current().add_node(
      "Unpack", {x}, {{"T", x.dtype()}, {"num", num}, {"axis", options.axis}}, value.where(), options.name);
  std::vector<Output> results;
  for (int i = 0; i < node->num_outputs(); ++i) results.push_back(node->output(i));
  return results;
}

namespace ops {
extern const OpDef op_unstack;
const OpDef op_unstack{
    .name = "Unpack",
    .doc = "The slices along an axis, without it.",
    .infer = infer,
    .lower = lower,
    .gradient = gradient,
};
}  // namespace ops
}  // namespace systole
