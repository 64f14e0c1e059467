// Variables of the process's environment, and the name of its host.
#pragma once

#include <string>

namespace systole {

// Returns the value of a variable; "" if it is not set. No other thread may set variables
// meanwhile.
std::string environment_value(const char* name);

// Returns the name of this host; "localhost" if it is not known.
std::string host_name();

}  // namespace systole
