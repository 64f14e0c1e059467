// A command of the command line.
#pragma once

#include <array>
#include <span>

#include "systole/base/command_line.h"

namespace systole::app {

// A command, one file each: `add` declares its options and its action.
struct Command {
  const char* name;
  const char* summary;
  void (*add)(CommandLine& line);
  std::array<const char*, 4> examples = {};  // arguments of examples, for the help
};

// Adds a command to a line.
void add_command(CommandLine& line, const Command& command);

// Adds subcommands to a line; one of them is required.
void add_commands(CommandLine& line, std::span<const Command> commands);

extern const Command kBoardCommand;
extern const Command kCacheCommand;
extern const Command kCheckCommand;
extern const Command kConformCommand;
extern const Command kDataCommand;
extern const Command kDevicesCommand;
extern const Command kEvaluateCommand;
extern const Command kExportCommand;
extern const Command kFilesCommand;
extern const Command kFlopsCommand;
extern const Command kHloCommand;
extern const Command kInspectCommand;
extern const Command kMachineCommand;
extern const Command kPredictCommand;
extern const Command kProfileCommand;
extern const Command kQuantizeCommand;
extern const Command kRunCommand;
extern const Command kTpuV1Command;
extern const Command kTrainCommand;
extern const Command kVersionCommand;
extern const Command kWorkerCommand;

}  // namespace systole::app
