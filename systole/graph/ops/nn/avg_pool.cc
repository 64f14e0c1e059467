#include "systole/graph/core/node_builder.h"
#include "systole/graph/ops/nn/pooling.h"

namespace systole {

Output avg_pool(const Input& value, const PoolOptions& options) {
  return add_op("AvgPool", {value}, options.name, pool_op_attrs("AvgPool", value, options));
}

namespace ops {
extern const OpDef op_avg_pool{
    .name = "AvgPool",
    .doc = "The mean of each window.",
    .inputs = "value: T",
    .outputs = "output: T",
    .attrs = "ksize: list(int), strides: list(int), padding: string, data_format: string = 'NHWC'",
    .infer = infer_avg_pool<2>,
    .lower = lower_avg_pool,
    .gradient = avg_pool_gradient,
};
}  // namespace ops
}  // namespace systole
