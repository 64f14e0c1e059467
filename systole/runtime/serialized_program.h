// Compiled programs as bytes: what Executable::serialize() returns.
//
//   bytes  = kind " " digest "\n" body
//   kind   = the form of the body, "systole-program-1"
//   digest = of the body, 16 hexadecimal digits
//
// The digest tells of damage. It is no protection from who makes bytes on purpose.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "systole/hlo/ir/module.h"
#include "systole/runtime/client.h"

namespace systole::runtime {

// Returns the bytes of `body`, which open_sealed() gives back. `kind` has no space.
std::string seal(std::string_view kind, std::string_view body);
// Returns the body, a part of `bytes`. Errors: DATA_LOSS `<reader>: compiled program, got <what>,
// expected <kind>` for bytes of another kind, and for bytes that were cut off or altered.
std::string_view open_sealed(std::string_view reader, std::string_view kind,
                             std::string_view bytes);

// A program and the options that it was compiled with. From these every backend of this machine
// compiles it again.
struct ProgramSource {
  std::unique_ptr<const hlo::Module> module;
  CompileOptions options;
};

// Writes the program as StableHLO text, with all options but `cache_folder`, which is of this
// machine. Source lines of nodes are lost when it is read; their names are not. Errors:
// UNIMPLEMENTED, with `writer`, for a program of several processes.
std::string write_program(std::string_view writer, const hlo::Module& module,
                          const CompileOptions& options);
// Reads and verifies a program. Errors: DATA_LOSS, with `reader`, for bytes that write_program()
// did not make.
ProgramSource read_program(std::string_view reader, std::string_view bytes);

}  // namespace systole::runtime
