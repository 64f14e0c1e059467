// StableHLO programs from files, and running them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/hlo/ir/module.h"
#include "systole/runtime/client.h"

namespace systole::app {

// The text of a file; of standard input for "-". Errors: those of the file system.
std::string read_text(const std::string& path);

// Every module of a text, verified. Errors: those of hlo::parse_all and hlo::verify.
std::vector<std::unique_ptr<hlo::Module>> parse_programs(const std::string& text,
                                                         const std::string& path);
// The only module of a file. Errors: INVALID_ARGUMENT when there are more, or none.
std::unique_ptr<hlo::Module> read_program(const std::string& path);

// Gives a module without "main" one that calls its only function, or its only public one that no
// other calls, or all such where none takes arguments. Errors: INVALID_ARGUMENT when there are
// several that do.
void ensure_main(hlo::Module& module);
// Adds a main that calls these functions of the module in turn: its parameters are theirs, and so
// are its results. Errors: ALREADY_EXISTS when there is a main.
void add_main(hlo::Module& module, std::span<const hlo::Computation* const> functions);

// Removes the custom calls of StableHLO's check.*, wherever they are, and returns how many there
// were. Those with a result are replaced by their first operand.
int remove_checks(hlo::Module& module);

// The backend of that name. Errors: NOT_FOUND lists those that there are.
runtime::Client& backend(const std::string& name);

}  // namespace systole::app
