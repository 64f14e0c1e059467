// What the build collects from the folder ops.
#pragma once

#include <span>

#include "systole/hlo/chlo/chlo.h"

namespace systole::hlo::chlo {

// One row a file; made by the build.
std::span<const NamedExpansion> expansion_files();

}  // namespace systole::hlo::chlo
