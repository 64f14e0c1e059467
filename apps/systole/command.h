// A command of the command line.
#pragma once

#include <array>
#include <span>

#include "systole/base/command_line.h"

namespace systole::app {

// One file a command: `add` declares its options and what it does when it is chosen.
struct Command {
  const char* name;
  const char* summary;
  void (*add)(CommandLine& line);
  std::array<const char*, 4> examples = {};  // what stands behind its name, for its help
};

// The table of commands below a line, one of which must be given.
void add_commands(CommandLine& line, std::span<const Command> commands);

extern const Command kCheckCommand;
extern const Command kDataCommand;
extern const Command kDevicesCommand;
extern const Command kEvaluateCommand;
extern const Command kExportCommand;
extern const Command kFlopsCommand;
extern const Command kHloCommand;
extern const Command kInspectCommand;
extern const Command kPredictCommand;
extern const Command kTrainCommand;
extern const Command kVersionCommand;

}  // namespace systole::app
