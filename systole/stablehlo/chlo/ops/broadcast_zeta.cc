#include "systole/stablehlo/chlo/broadcast.h"

namespace systole::hlo::chlo::ops {

extern const Expand zeta_expansion;
extern const Expand broadcast_zeta_expansion = broadcast_then<zeta_expansion>;

}  // namespace systole::hlo::chlo::ops
