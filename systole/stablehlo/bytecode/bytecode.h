// MLIR bytecode with VHLO: the portable artifacts of StableHLO, in which jax.export and other
// exporters write programs. Every version of VHLO from 0.9 to 1.20 is read and written.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "systole/hlo/ir/module.h"

namespace systole::hlo {

// Returns whether the bytes are those of an MLIR bytecode file, by their magic number.
bool is_bytecode(std::string_view bytes);

// Converts a bytecode file to StableHLO text in MLIR's generic form, with all ops and attributes of
// older versions upgraded. Also of programs that modules cannot express, such as those with dynamic
// shapes. Errors: INVALID_ARGUMENT
// `<file>: byte <offset>: <what>, got <value>, expected <value>`; UNIMPLEMENTED, in the same form,
// for versions after 1.20, and for attributes in encodings of dialects other than vhlo, builtin and
// sdy.
std::string bytecode_to_text(std::string_view bytes, std::string_view file = "<bytecode>");

// Reads a bytecode file. Errors: those of bytecode_to_text and of parse; the latter with the offset
// of the op.
std::unique_ptr<Module> read_bytecode(std::string_view bytes, std::string_view file = "<bytecode>");

// Reads the modules of a file of either form: bytecode, which has one, or StableHLO text. Errors:
// those of read_bytecode and of parse_all.
std::vector<std::unique_ptr<Module>> read_modules(std::string_view bytes, std::string_view file);

struct WriteBytecodeOptions {
  // The version of VHLO, from "0.9.0" to "1.20.0". Programs that compilers of several ages read are
  // written for the version of the oldest: JAX and XLA read versions up to their own.
  std::string version = "1.20.0";
};

// Writes a module as a portable artifact. Reading it gives an equal module, except that a channel
// keeps its type only for send and recv, and a location its name only. Deterministic. Errors:
// INVALID_ARGUMENT for a version that does not exist and for fusions, which StableHLO does not
// have; UNIMPLEMENTED for ops, attributes and types that the version does not have.
std::string write_bytecode(const Module& module, const WriteBytecodeOptions& options = {});

}  // namespace systole::hlo
