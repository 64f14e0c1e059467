#include "apps/systole/base/command.h"

namespace systole::app {

void add_command(CommandLine& line, const Command& command) {
  CommandLine& added = line.command(command.name, command.summary);
  for (const char* example : command.examples) {
    if (example != nullptr) added.example(example);
  }
  command.add(added);
}

void add_commands(CommandLine& line, std::span<const Command> commands) {
  line.require_command();
  for (const Command& command : commands) add_command(line, command);
}

}  // namespace systole::app
