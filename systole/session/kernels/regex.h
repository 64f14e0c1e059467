// Regular expressions of string ops.
#pragma once

#include <re2/re2.h>

#include <algorithm>
#include <memory>
#include <string>

#include "systole/session/host/host_kernel.h"

namespace systole {

// Returns the compiled pattern, which all nodes of a session share. Errors: INVALID_ARGUMENT with
// RE2's message.
std::shared_ptr<const re2::RE2> regex_of(KernelContext& context, const std::string& pattern);

}  // namespace systole
