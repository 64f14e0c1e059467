// The table of docs/stablehlo.md: which backend computes which op on which elements, found out by
// compiling and running a program of each.
#pragma once

#include <string>

#include "systole/base/dtype.h"
#include "systole/hlo/ir/opcode.h"

namespace systole::app {

// What a backend makes of the one-op program.
enum class Support : uint8_t {
  invalid,       // the specification gives the op no meaning on these elements
  none,          // valid, and not to be had
  by_reference,  // by the op's reference value
  native,        // by the backend's own code
};
Support find_support(hlo::Opcode opcode, DType dtype, const std::string& backend);

// The tables as Markdown, one row an opcode.
std::string support_tables();

// `document` with what is between the two marks of the tables replaced by them. Errors:
// INVALID_ARGUMENT when the marks are not there.
std::string with_support_tables(const std::string& document, const std::string& path);

}  // namespace systole::app
