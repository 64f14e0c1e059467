// Regular expressions of string ops.
#pragma once

#include <re2/re2.h>

#include <algorithm>
#include <memory>
#include <string>

#include "systole/session/host/host_kernel.h"

namespace systole {

// The compiled pattern, made once for all nodes of a session that have it. Errors: INVALID_ARGUMENT
// with what RE2 says of it.
std::shared_ptr<const re2::RE2> regex_of(KernelContext& context, const std::string& pattern);

}  // namespace systole
