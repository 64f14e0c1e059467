// A command of the command line.
#pragma once

#include <CLI/CLI.hpp>

namespace systole::app {

// One file a command: `add` declares its options and what it does when it is chosen (a CLI11
// callback).
struct Command {
  const char* name;
  const char* summary;
  void (*add)(CLI::App& app);
};

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
