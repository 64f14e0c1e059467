// StableHLO text. See the specification at openxla/stablehlo, docs/spec.md.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "systole/hlo/ir/module.h"

namespace systole::hlo {

struct PrintOptions {
  // Constants with more elements are printed as a hexadecimal string, which preserves every bit.
  int64_t max_literal_elements = 64;
  // Prints loc("node"("file.cc":41:0)) after every op.
  bool locations = false;
  // Prints `stablehlo.add %0, %1 : tensor<f32>` for ops that have such a form.
  bool pretty = false;
};

// Prints the module in MLIR's generic form: `"stablehlo.add"(%0, %1) : (...) -> ...`.
// Deterministic.
std::string print(const Module& module, const PrintOptions& options = {});
std::string print(const Computation& computation, const PrintOptions& options = {});
std::string print(const Instruction& instruction);

// Parses StableHLO text, generic or pretty. Expands CHLO's ops and deprecated ops into StableHLO,
// flattens tuples into their leaves, and turns the ops of StableHLO's tests into custom calls.
// Keeps attributes of modules, functions, parameters and results. `file` appears in errors.
//
// Errors: INVALID_ARGUMENT `<file>:<line>:<column>: <what>, got <token>, expected <what>`;
// UNIMPLEMENTED, in the same form, for unknown ops, dynamic shapes and element types that DType
// does not have. Infers types and compares them; verify() checks the rest.
std::unique_ptr<Module> parse(std::string_view text, std::string_view file = "<text>");
// Parses all modules of a file, which lines `// -----` may separate. Errors: those of parse.
std::vector<std::unique_ptr<Module>> parse_all(std::string_view text,
                                               std::string_view file = "<text>");

}  // namespace systole::hlo
