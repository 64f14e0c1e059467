#include "systole/stablehlo/chlo/broadcast.h"

namespace systole::hlo::chlo::ops {

extern const Expand polygamma_expansion;
extern const Expand broadcast_polygamma_expansion = broadcast_then<polygamma_expansion>;

}  // namespace systole::hlo::chlo::ops
