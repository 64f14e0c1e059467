// TensorFlow's update ops: what they compute are the rules of graph/optimizers.
#include "systole/graph/ops/training/update_op.h"

namespace systole::ops {

extern const OpDef op_apply_gradient_descent{
    .name = "ResourceApplyGradientDescent",
    .doc = "var -= alpha * delta.",
    .inputs = "var: resource, alpha: T, delta: T",
    .infer = infer_update_op,
    .lower = lower_update_op,
    .traits = {.stateful = true},
};

extern const OpDef op_apply_momentum{
    .name = "ResourceApplyMomentum",
    .doc = "accum = momentum * accum + grad; var -= lr * accum, or Nesterov's form.",
    .inputs = "var: resource, accum: resource, lr: T, grad: T, momentum: T",
    .attrs = "use_nesterov: bool = false",
    .infer = infer_update_op,
    .lower = lower_update_op,
    .traits = {.stateful = true},
};

extern const OpDef op_sparse_apply_momentum{
    .name = "ResourceSparseApplyMomentum",
    .doc = "ResourceApplyMomentum of some rows. No index may occur twice.",
    .inputs = "var: resource, accum: resource, lr: T, grad: T, indices: Tindices, momentum: T",
    .attrs = "use_nesterov: bool = false",
    .infer = infer_update_op,
    .lower = lower_update_op,
    .traits = {.stateful = true},
};

extern const OpDef op_apply_adagrad{
    .name = "ResourceApplyAdagrad",
    .doc = "accum += grad^2; var -= lr * grad / sqrt(accum).",
    .inputs = "var: resource, accum: resource, lr: T, grad: T",
    .attrs = "update_slots: bool = true",
    .infer = infer_update_op,
    .lower = lower_update_op,
    .traits = {.stateful = true},
};

extern const OpDef op_sparse_apply_adagrad{
    .name = "ResourceSparseApplyAdagrad",
    .doc = "ResourceApplyAdagrad of some rows. No index may occur twice.",
    .inputs = "var: resource, accum: resource, lr: T, grad: T, indices: Tindices",
    .attrs = "update_slots: bool = true",
    .infer = infer_update_op,
    .lower = lower_update_op,
    .traits = {.stateful = true},
};

extern const OpDef op_apply_adadelta{
    .name = "ResourceApplyAdadelta",
    .doc = "Steps as long as the earlier ones, by the mean squares of both.",
    .inputs =
        "var: resource, accum: resource, accum_update: resource, lr: T, rho: T, epsilon: T, "
        "grad: T",
    .infer = infer_update_op,
    .lower = lower_update_op,
    .traits = {.stateful = true},
};

extern const OpDef op_sparse_apply_adadelta{
    .name = "ResourceSparseApplyAdadelta",
    .doc = "ResourceApplyAdadelta of some rows. No index may occur twice.",
    .inputs =
        "var: resource, accum: resource, accum_update: resource, lr: T, rho: T, epsilon: T, "
        "grad: T, indices: Tindices",
    .infer = infer_update_op,
    .lower = lower_update_op,
    .traits = {.stateful = true},
};

extern const OpDef op_apply_ftrl{
    .name = "ResourceApplyFtrl",
    .doc = "Follows the regularised leader, near the last step.",
    .inputs =
        "var: resource, accum: resource, linear: resource, grad: T, lr: T, l1: T, l2: T, "
        "lr_power: T",
    .infer = infer_update_op,
    .lower = lower_update_op,
    .traits = {.stateful = true},
};

extern const OpDef op_sparse_apply_ftrl{
    .name = "ResourceSparseApplyFtrl",
    .doc = "ResourceApplyFtrl of some rows. No index may occur twice.",
    .inputs =
        "var: resource, accum: resource, linear: resource, grad: T, indices: Tindices, lr: T, "
        "l1: T, l2: T, lr_power: T",
    .infer = infer_update_op,
    .lower = lower_update_op,
    .traits = {.stateful = true},
};

extern const OpDef op_apply_adam{
    .name = "ResourceApplyAdam",
    .doc = "Adam with bias correction folded into the learning rate.",
    .inputs =
        "var: resource, m: resource, v: resource, beta1_power: T, beta2_power: T, lr: T, beta1: "
        "T, beta2: T, epsilon: T, grad: T",
    .attrs = "use_nesterov: bool = false",
    .infer = infer_update_op,
    .lower = lower_update_op,
    .traits = {.stateful = true},
};

extern const OpDef op_apply_rms_prop{
    .name = "ResourceApplyRMSProp",
    .doc = "RMSProp with momentum.",
    .inputs =
        "var: resource, ms: resource, mom: resource, lr: T, rho: T, momentum: T, epsilon: T, "
        "grad: T",
    .infer = infer_update_op,
    .lower = lower_update_op,
    .traits = {.stateful = true},
};

extern const OpDef op_sparse_apply_rms_prop{
    .name = "ResourceSparseApplyRMSProp",
    .doc = "ResourceApplyRMSProp of some rows. No index may occur twice.",
    .inputs =
        "var: resource, ms: resource, mom: resource, lr: T, rho: T, momentum: T, epsilon: T, "
        "grad: T, indices: Tindices",
    .infer = infer_update_op,
    .lower = lower_update_op,
    .traits = {.stateful = true},
};

extern const OpDef op_apply_centered_rms_prop{
    .name = "ResourceApplyCenteredRMSProp",
    .doc = "RMSProp that divides by the estimated standard deviation of the gradient.",
    .inputs =
        "var: resource, mg: resource, ms: resource, mom: resource, lr: T, rho: T, momentum: T, "
        "epsilon: T, grad: T",
    .infer = infer_update_op,
    .lower = lower_update_op,
    .traits = {.stateful = true},
};

extern const OpDef op_sparse_apply_centered_rms_prop{
    .name = "ResourceSparseApplyCenteredRMSProp",
    .doc = "ResourceApplyCenteredRMSProp of some rows. No index may occur twice.",
    .inputs =
        "var: resource, mg: resource, ms: resource, mom: resource, lr: T, rho: T, momentum: T, "
        "epsilon: T, grad: T, indices: Tindices",
    .infer = infer_update_op,
    .lower = lower_update_op,
    .traits = {.stateful = true},
};

}  // namespace systole::ops
