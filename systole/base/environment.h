// Variables of the process's environment.
#pragma once

#include <string>

namespace systole {

// Returns the value of a variable; "" if it is not set. No other thread may set variables
// meanwhile.
std::string environment_value(const char* name);

}  // namespace systole
