#include "systole/graph/ops/training/update_rules.h"

namespace systole::ops {

extern const OpDef op_sparse_apply_adagrad;
const OpDef op_sparse_apply_adagrad{
    .name = "ResourceSparseApplyAdagrad",
    .doc = "ResourceApplyAdagrad of some rows. No index may occur twice.",
    .inputs = "var: resource, accum: resource, lr: T, grad: T, indices: Tindices",
    .attrs = "update_slots: bool = true",
    .infer = infer_apply_adagrad,
    .lower = lower_apply_adagrad,
    .stateful = true,
};

}  // namespace systole::ops
