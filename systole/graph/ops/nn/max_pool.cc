#include "systole/graph/api/node_builder.h"
#include "systole/graph/ops/nn/pooling.h"

namespace systole {
namespace {

std::vector<hlo::Value> lower_max_pool(LowerContext& c) {
  const ImageWindow window = pool_window(c.node.attrs(), c.input(0).shape());
  return {reduce_window(c.b, c.input(0), hlo::Opcode::maximum, pool_attrs(window))};
}

std::vector<Output> max_pool_gradient(GradientContext& c) {
  return {max_pool_grad(c.input(0), c.output(), c.grad(), c.node.attrs())};
}

}  // namespace

Output max_pool(const Input& value, const PoolOptions& options) {
  return add_op("MaxPool", {value}, options.name, pool_op_attrs("MaxPool", value, options));
}

namespace ops {
extern const OpDef op_max_pool;
const OpDef op_max_pool{
    .name = "MaxPool",
    .doc = "The largest element of each window.",
    .inputs = "input: T",
    .outputs = "output: T",
    .attrs = "ksize: list(int), strides: list(int), padding: string, data_format: string = 'NHWC'",
    .infer = [](const InferContext& c) { return infer_pool(c, DTypeClass::number); },
    .lower = lower_max_pool,
    .gradient = max_pool_gradient,
};
}  // namespace ops
}  // namespace systole
