// Prints descriptions as text.
#pragma once

#include <string>

#include "apps/systole/inspect/describe.h"

namespace systole::app {

// Returns several lines, each with a line break.
std::string readable(const Json& description);

}  // namespace systole::app
