#include "systole/graph/ops/training/update_rules.h"

namespace systole::ops {

extern const OpDef op_sparse_apply_momentum;
const OpDef op_sparse_apply_momentum{
    .name = "ResourceSparseApplyMomentum",
    .doc = "ResourceApplyMomentum of some rows. No index may occur twice.",
    .inputs = "var: resource, accum: resource, lr: T, grad: T, indices: Tindices, momentum: T",
    .attrs = "use_nesterov: bool = false",
    .infer = infer_apply_momentum,
    .lower = lower_apply_momentum,
    .stateful = true,
};

}  // namespace systole::ops
