// For tests of errors.
#pragma once

#include <functional>
#include <string>

#include "systole/base/error.h"

namespace systole::testing {

// What the Error that `action` throws says, its code first; "no error" when it throws none.
inline std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace systole::testing
