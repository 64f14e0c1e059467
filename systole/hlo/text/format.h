// What else people hand to a reader of StableHLO text, and what to do about it.
#pragma once

#include <string>
#include <string_view>

namespace systole::hlo::text {

// Errors: UNIMPLEMENTED `<file>: format, got <MLIR bytecode, HLO text...>, expected StableHLO text:
// <what makes it of that>` for a text that begins as no MLIR text can.
void expect_stablehlo_text(std::string_view text, std::string_view file);

// What makes StableHLO of an op of that name, as a message's end: ": <what to run>"; "" where
// nothing is known.
std::string advice_on(std::string_view op);

}  // namespace systole::hlo::text
