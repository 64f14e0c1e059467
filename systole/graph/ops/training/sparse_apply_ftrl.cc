#include "systole/graph/ops/training/update_rules.h"

namespace systole::ops {

extern const OpDef op_sparse_apply_ftrl;
const OpDef op_sparse_apply_ftrl{
    .name = "ResourceSparseApplyFtrl",
    .doc = "ResourceApplyFtrl of some rows. No index may occur twice.",
    .inputs =
        "var: resource, accum: resource, linear: resource, grad: T, indices: Tindices, "
        "lr: T, l1: T, l2: T, lr_power: T",
    .infer = infer_apply_ftrl,
    .lower = lower_apply_ftrl,
    .stateful = true,
};

}  // namespace systole::ops
