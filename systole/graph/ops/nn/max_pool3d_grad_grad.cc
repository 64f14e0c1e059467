#include "systole/graph/ops/nn/pooling.h"

namespace systole::ops {

extern const OpDef op_max_pool3d_grad_grad{
    .name = "MaxPool3DGradGrad",
    .doc = "What lies, in a tensor like the input, at the first largest element of each window.",
    .inputs = "orig_input: T, orig_output: T, grad: T",
    .outputs = "output: T",
    .attrs = "ksize: list(int), strides: list(int), padding: string, data_format: string = 'NDHWC'",
    .infer = infer_max_pool_grad_grad,
    .lower = lower_max_pool_grad_grad,
    .gradient = max_pool_grad_grad_gradient,
};

}  // namespace systole::ops
