// Runs programs of the build as a user does.
#pragma once

#include <string>

namespace systole::testing {

struct ProgramResult {
  int status = 0;      // the exit status; -1 when a signal ended it
  std::string output;  // stdout, then stderr
};

// Runs `bin/<command line>` of this build through the shell.
ProgramResult run_program(const std::string& command_line);

}  // namespace systole::testing
