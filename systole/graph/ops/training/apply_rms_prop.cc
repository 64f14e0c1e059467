#include "systole/graph/api/training_ops.h"
#include "systole/graph/ops/training/rms_prop.h"
#include "systole/graph/ops/training/training_common.h"

namespace systole {

Operation apply_rms_prop(const RMSPropInputs& i) {
  std::vector<Output> inputs = {i.var, i.mean_square, i.momentum_slot, i.learning_rate,
                                i.rho, i.momentum,    i.epsilon,       i.gradient};
  const auto gradient_index = static_cast<int>(inputs.size()) - 1;
  return add_update("ResourceApplyRMSProp", std::move(inputs), gradient_index, i.indices);
}

namespace ops {
extern const OpDef op_apply_rms_prop;
const OpDef op_apply_rms_prop{
    .name = "ResourceApplyRMSProp",
    .doc = "RMSProp with momentum.",
    .inputs =
        "var: resource, ms: resource, mom: resource, lr: T, rho: T, momentum: T, epsilon: T, "
        "grad: T",
    .infer = [](const InferContext& c) { return infer_rms_prop(c, /*centered=*/false); },
    .lower = [](LowerContext& c) { return lower_rms_prop(c, /*centered=*/false); },
    .stateful = true,
};
}  // namespace ops
}  // namespace systole
