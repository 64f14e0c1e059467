#include "systole/graph/core/node_builder.h"
#include "systole/graph/ops/nn/pooling.h"

namespace systole {

Output max_pool(const Input& value, const PoolOptions& options) {
  return add_op("MaxPool", {value}, options.name, pool_op_attrs("MaxPool", value, options));
}

namespace ops {
extern const OpDef op_max_pool{
    .name = "MaxPool",
    .doc = "The largest element of each window.",
    .inputs = "input: T",
    .outputs = "output: T",
    .attrs = "ksize: list(int), strides: list(int), padding: string, data_format: string = 'NHWC'",
    .infer = infer_max_pool<2>,
    .lower = lower_max_pool,
    .gradient = max_pool_gradient,
};
}  // namespace ops
}  // namespace systole
