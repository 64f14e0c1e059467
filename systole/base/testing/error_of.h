// Errors in tests.
#pragma once

#include <functional>
#include <string>

#include "systole/base/error.h"

namespace systole::testing {

// Returns the text of the Error that `action` throws, starting with its code, or "no error".
inline std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace systole::testing
