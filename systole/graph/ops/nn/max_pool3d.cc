#include "systole/graph/core/node_builder.h"
#include "systole/graph/ops/nn/pooling.h"

namespace systole {

Output max_pool3d(const Input& value, const Pool3DOptions& options) {
  return add_op("MaxPool3D", {value}, options.name, pool_op_attrs("MaxPool3D", value, options));
}

namespace ops {
extern const OpDef op_max_pool3d{
    .name = "MaxPool3D",
    .doc = "The largest element of each window.",
    .inputs = "input: T",
    .outputs = "output: T",
    .attrs = "ksize: list(int), strides: list(int), padding: string, data_format: string = 'NDHWC'",
    .infer = infer_max_pool<3>,
    .lower = lower_max_pool,
    .gradient = max_pool_gradient,
};
}  // namespace ops
}  // namespace systole
