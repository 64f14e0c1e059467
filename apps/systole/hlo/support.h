// The tables of docs/stablehlo.md: which backend computes which op on which element types,
// determined by compiling and running one program for each.
#pragma once

#include <string>

#include "systole/base/dtype.h"
#include "systole/hlo/ir/opcode.h"

namespace systole::app {

// How a backend runs the program of one op.
enum class Support : uint8_t {
  invalid,      // the specification gives the op no meaning on these elements
  none,         // valid, and not to be had
  interpreted,  // by the op's reference value
  native,       // by the backend's own code
};
Support find_support(hlo::Opcode opcode, DType dtype, const std::string& backend);

// Returns the tables in Markdown, one row per opcode.
std::string support_tables();

// Returns `document` with the text between its two marks replaced by the tables. Errors:
// INVALID_ARGUMENT if the marks are missing.
std::string with_support_tables(const std::string& document, const std::string& path);

}  // namespace systole::app
