#pragma once

#include <string>
#include <vector>

namespace systole::runtime::testing {

// Returns the names of the registered backends that run every program, for tests that run on each.
// Sets SYSTOLE_PJRT_PLUGIN, where it is not set, to the plugin that is built with the test.
std::vector<std::string> tested_backends();

}  // namespace systole::runtime::testing
