// StableHLO text. See the specification at openxla/stablehlo, docs/spec.md.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "systole/hlo/ir/module.h"

namespace systole::hlo {

struct PrintOptions {
  // Constants with more elements are printed as a hex string, which reads back bit for bit.
  int64_t max_literal_elements = 64;
  // loc("node"("file.cc":41:0)) behind every op.
  bool locations = false;
  // `stablehlo.add %0, %1 : tensor<f32>` for ops that have such a form.
  bool pretty = false;
};

// The module in MLIR's generic form: `"stablehlo.add"(%0, %1) : (...) -> ...`. Deterministic.
std::string print(const Module& module, const PrintOptions& options = {});
std::string print(const Computation& computation, const PrintOptions& options = {});
std::string print(const Instruction& instruction);

// Reads StableHLO text, generic or pretty, with CHLO's ops (as what they are in StableHLO's),
// tuples (as their leaves), deprecated ops, and those of StableHLO's tests (as custom calls).
// Attributes of modules, functions, parameters and results are kept. `file` is named in errors.
// Errors: INVALID_ARGUMENT `<file>:<line>:<column>: <what>, got <token>, expected <what>`;
// UNIMPLEMENTED likewise for ops that are not in the opcode table, for dynamic shapes and for
// element types that DType has not. Types are inferred and compared; what only a whole module shows
// is verify's.
std::unique_ptr<Module> parse(std::string_view text, std::string_view file = "<text>");
// The modules of a file, which lines `// -----` may separate. Errors: those of parse.
std::vector<std::unique_ptr<Module>> parse_all(std::string_view text,
                                               std::string_view file = "<text>");

}  // namespace systole::hlo
