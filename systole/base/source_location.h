// Where in the user's program a node was built.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>

namespace systole {

// The file keeps the pointer that the compiler made: no allocation, valid for the program's life.
struct SourceLocation {
  const char* file = "";
  uint32_t line = 0;

  SourceLocation() = default;
  SourceLocation(const std::source_location& where)  // NOLINT(google-explicit-constructor)
      : file(where.file_name()), line(where.line()) {}

  bool known() const { return line != 0; }
  std::string to_string() const;  // "iris.cc:41", the base name only; "" when not known
};

}  // namespace systole
