#include "systole/stablehlo/chlo/broadcast.h"

namespace systole::hlo::chlo::ops {

extern const Expand next_after_expansion;
extern const Expand broadcast_next_after_expansion = broadcast_then<next_after_expansion>;

}  // namespace systole::hlo::chlo::ops
