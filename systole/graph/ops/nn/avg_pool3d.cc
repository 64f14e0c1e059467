#include "systole/graph/core/node_builder.h"
#include "systole/graph/ops/nn/pooling.h"

namespace systole {

Output avg_pool3d(const Input& value, const Pool3DOptions& options) {
  return add_op("AvgPool3D", {value}, options.name, pool_op_attrs("AvgPool3D", value, options));
}

namespace ops {
extern const OpDef op_avg_pool3d{
    .name = "AvgPool3D",
    .doc = "The mean of each window.",
    .inputs = "value: T",
    .outputs = "output: T",
    .attrs = "ksize: list(int), strides: list(int), padding: string, data_format: string = 'NDHWC'",
    .infer = infer_avg_pool<3>,
    .lower = lower_avg_pool,
    .gradient = avg_pool_gradient,
};
}  // namespace ops
}  // namespace systole
