#include "systole/graph/ops/training/update_rules.h"

namespace systole::ops {

extern const OpDef op_sparse_apply_adadelta;
const OpDef op_sparse_apply_adadelta{
    .name = "ResourceSparseApplyAdadelta",
    .doc = "ResourceApplyAdadelta of some rows. No index may occur twice.",
    .inputs =
        "var: resource, accum: resource, accum_update: resource, lr: T, rho: T, "
        "epsilon: T, grad: T, indices: Tindices",
    .infer = infer_apply_adadelta,
    .lower = lower_apply_adadelta,
    .stateful = true,
};

}  // namespace systole::ops
