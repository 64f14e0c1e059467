// StableHLO text. See the specification at openxla/stablehlo, docs/spec.md.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "systole/hlo/module.h"

namespace systole::hlo {

struct PrintOptions {
  // Constants with more elements are printed as a hex string, which reads back bit for bit.
  int64_t max_literal_elements = 64;
  // loc("node"("file.cc":41:0)) behind every op.
  bool locations = false;
};

// The module in MLIR's generic form: `"stablehlo.add"(%0, %1) : (...) -> ...`. Deterministic.
std::string print(const Module& module, const PrintOptions& options = {});
std::string print(const Computation& computation, const PrintOptions& options = {});
std::string print(const Instruction& instruction);

// Reads what `print` writes. `file` is named in errors. Errors: INVALID_ARGUMENT
// `<file>:<line>:<column>: <what>, got <token>, expected <what>`; UNIMPLEMENTED likewise for ops
// that are not in the opcode table and for dynamic shapes. Types are inferred and compared; what
// only a whole module shows is verify's.
std::unique_ptr<Module> parse(std::string_view text, std::string_view file = "<text>");

}  // namespace systole::hlo
