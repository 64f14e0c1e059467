// The line of the user's program that built a node.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>

namespace systole {

// Keeps the compiler's pointer to the file name: no allocation, valid until the process ends.
struct SourceLocation {
  const char* file = "";
  uint32_t line = 0;

  SourceLocation() = default;
  SourceLocation(const std::source_location& where)  // NOLINT(google-explicit-constructor)
      : file(where.file_name()), line(where.line()) {}

  bool known() const { return line != 0; }
  std::string to_string() const;  // "iris.cc:41", the base name only; "" if unknown
};

}  // namespace systole
