// Names for lookups, with the line of the caller.
#pragma once

#include <source_location>
#include <string>
#include <string_view>

#include "systole/base/source_location.h"

namespace systole {

// A name by which a caller looks something up, and the caller's line, for an error: a parameter of
// operator[], which takes no second argument. The name must outlive the call.
struct NameAtLine {
  NameAtLine(const char* text,  // NOLINT(google-explicit-constructor)
             const std::source_location& at = std::source_location::current())
      : name(text), where(at) {}
  NameAtLine(std::string_view text,  // NOLINT(google-explicit-constructor)
             const std::source_location& at = std::source_location::current())
      : name(text), where(at) {}
  NameAtLine(const std::string& text,  // NOLINT(google-explicit-constructor)
             const std::source_location& at = std::source_location::current())
      : name(text), where(at) {}

  std::string_view name;
  SourceLocation where;
};

}  // namespace systole
