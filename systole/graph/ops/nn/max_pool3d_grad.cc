#include "systole/graph/ops/nn/pooling.h"

namespace systole::ops {

extern const OpDef op_max_pool3d_grad{
    .name = "MaxPool3DGrad",
    .doc =
        "The gradient of MaxPool3D: each window's gradient at the first of its largest elements.",
    .inputs = "orig_input: T, orig_output: T, grad: T",
    .outputs = "output: T",
    .attrs = "ksize: list(int), strides: list(int), padding: string, data_format: string = 'NDHWC'",
    .infer = infer_max_pool_grad,
    .lower = lower_max_pool_grad,
    .gradient = max_pool_grad_gradient,
};

}  // namespace systole::ops
