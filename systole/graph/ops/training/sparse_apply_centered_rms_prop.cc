#include "systole/graph/ops/training/rms_prop.h"

namespace systole::ops {

extern const OpDef op_sparse_apply_centered_rms_prop;
const OpDef op_sparse_apply_centered_rms_prop{
    .name = "ResourceSparseApplyCenteredRMSProp",
    .doc = "ResourceApplyCenteredRMSProp of some rows. No index may occur twice.",
    .inputs =
        "var: resource, mg: resource, ms: resource, mom: resource, lr: T, rho: T, momentum: T, "
        "epsilon: T, grad: T, indices: Tindices",
    .infer = [](const InferContext& c) { return infer_rms_prop(c, /*centered=*/true); },
    .lower = [](LowerContext& c) { return lower_rms_prop(c, /*centered=*/true); },
    .stateful = true,
};

}  // namespace systole::ops
