// Descriptions as a person reads them.
#pragma once

#include <string>

#include "apps/systole/inspect/describe.h"

namespace systole::app {

// Several lines, the last with a line break.
std::string readable(const Json& description);

}  // namespace systole::app
