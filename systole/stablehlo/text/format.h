// Recognises formats other than StableHLO text and names the tools that convert them.
#pragma once

#include <string>
#include <string_view>

namespace systole::hlo::text {

// Checks that the text can be MLIR. Errors: UNIMPLEMENTED `<file>: format, got <MLIR bytecode, HLO
// text...>, expected StableHLO text: <tool that converts it>`.
void expect_stablehlo_text(std::string_view text, std::string_view file);

// Returns advice on converting an op of that name to StableHLO, for the end of an error: ":
// <command>"; "" if there is none.
std::string advice_on(std::string_view op);

}  // namespace systole::hlo::text
