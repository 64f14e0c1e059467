// Reads StableHLO programs from files and runs them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/hlo/ir/module.h"
#include "systole/runtime/client.h"

namespace systole::app {

// Returns the bytes of a file, or of standard input for "-". Errors: those of the file system.
std::string read_text(const std::string& path);

// Reads and verifies every module of a StableHLO text or an MLIR bytecode file. Errors: those of
// hlo::read_modules and hlo::verify.
std::vector<std::unique_ptr<hlo::Module>> parse_programs(const std::string& text,
                                                         const std::string& path);
// Returns the only module of a file, whose bytes may be given. Errors: INVALID_ARGUMENT if there
// are several or none.
std::unique_ptr<hlo::Module> read_program(const std::string& path);
std::unique_ptr<hlo::Module> read_program(const std::string& bytes, const std::string& path);

// Adds a main to a module without one. It calls the module's only function, else its only public
// function that no other function calls, else all such functions if none has parameters. Errors:
// INVALID_ARGUMENT if several have.
void ensure_main(hlo::Module& module);
// Adds a main that calls these functions in order. Its parameters and results are theirs,
// concatenated. Errors: ALREADY_EXISTS if there is a main.
void add_main(hlo::Module& module, std::span<const hlo::Computation* const> functions);

// Removes all check.* calls and returns their number. Those with a result are replaced by their
// first operand.
int remove_checks(hlo::Module& module);

// What --backend takes.
inline constexpr const char* kBackendNames = "cpu|reference|tpu_v1|pjrt:PLUGIN";

// Returns the backend of that name. Errors: NOT_FOUND with the available names; those of a plugin
// that cannot be loaded.
runtime::Client& backend(const std::string& name);

}  // namespace systole::app
