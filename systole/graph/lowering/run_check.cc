#include "systole/graph/lowering/run_check.h"

#include <utility>

#include "systole/graph/core/axes.h"
#include "systole/graph/lowering/specialize.h"

namespace systole {

void fail_where(LowerContext& c, hlo::Value failed, std::string message) {
  const Dims axes = Axes().list(failed.shape().rank());
  if (!axes.empty()) failed = c.b.reduce(failed, hlo::Opcode::or_, axes);
  const std::optional<Tensor> known = c.lowering.constant_value(failed);
  if (known && !known->item<bool>()) return;
  c.lowering.check(failed, Code::invalid_argument, std::move(message));
}

}  // namespace systole
