#include "systole/graph/node_builder.h"
#include "systole/graph/pooling.h"

namespace systole {
namespace {

std::vector<hlo::Value> lower(LowerContext& c) {
  const hlo::Value x = c.input(0);
  const ImageWindow window = pool_window(c.node.attrs(), x.shape());
  const hlo::Value sums = reduce_window(c.b, x, hlo::Opcode::add, pool_attrs(window));
  return {c.b.divide(sums, window_counts(c, x.type()))};
}

std::vector<Output> gradient(GradientContext& c) {
  return {avg_pool_grad(shape(c.input(0)), c.grad(), c.node.attrs())};
}

}  // namespace

Output avg_pool(Input value, const PoolOptions& options) {
  return add_op("AvgPool", {value}, options.name, pool_op_attrs("AvgPool", options));
}

namespace ops {
extern const OpDef op_avg_pool;
const OpDef op_avg_pool{
    .name = "AvgPool",
    .doc = "The mean of each window.",
    .infer = infer_pool,
    .lower = lower,
    .gradient = gradient,
};
}  // namespace ops
}  // namespace systole
