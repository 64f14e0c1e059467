#include "systole/graph/api/node_builder.h"
#include "systole/graph/ops/nn/pooling.h"

namespace systole {
namespace {

std::vector<hlo::Value> lower_avg_pool(LowerContext& c) {
  hlo::Builder& b = c.b;
  const hlo::Value x = b.convert(c.input(0), accumulation_dtype(c.input(0).dtype()));
  const ImageWindow window = pool_window(c.node.attrs(), x.shape());
  const hlo::Value sums = reduce_window(b, x, hlo::Opcode::add, pool_attrs(window));
  return {b.convert(divide_by_counts(b, sums, window), c.input(0).dtype())};
}

std::vector<Output> avg_pool_gradient(GradientContext& c) {
  return {avg_pool_grad(shape(c.input(0)), c.grad(), c.node.attrs())};
}

}  // namespace

Output avg_pool(const Input& value, const PoolOptions& options) {
  return add_op("AvgPool", {value}, options.name, pool_op_attrs("AvgPool", value, options));
}

namespace ops {
extern const OpDef op_avg_pool;
const OpDef op_avg_pool{
    .name = "AvgPool",
    .doc = "The mean of each window.",
    .inputs = "value: T",
    .outputs = "output: T",
    .attrs = "ksize: list(int), strides: list(int), padding: string, data_format: string = 'NHWC'",
    .infer = [](const InferContext& c) { return infer_pool(c, DTypeClass::floating); },
    .lower = lower_avg_pool,
    .gradient = avg_pool_gradient,
};
}  // namespace ops
}  // namespace systole
