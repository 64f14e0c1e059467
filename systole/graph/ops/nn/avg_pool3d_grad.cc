#include "systole/graph/ops/nn/pooling.h"

namespace systole::ops {

extern const OpDef op_avg_pool3d_grad{
    .name = "AvgPool3DGrad",
    .doc = "The gradient of AvgPool3D.",
    .inputs = "orig_input_shape: int32, grad: T",
    .outputs = "output: T",
    .attrs = "ksize: list(int), strides: list(int), padding: string, data_format: string = 'NDHWC'",
    .infer = infer_avg_pool_grad,
    .lower = lower_avg_pool_grad,
    .gradient = avg_pool_grad_gradient,
};

}  // namespace systole::ops
