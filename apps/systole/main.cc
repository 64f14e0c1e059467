// The command line: `systole help` lists the commands.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "apps/systole/command.h"

namespace systole::app {
namespace {

// In the order in which a person comes to need them.
constexpr const Command* kCommands[] = {
    &kTrainCommand,   &kEvaluateCommand, &kPredictCommand, &kExportCommand,   &kCheckCommand,
    &kProfileCommand, &kBoardCommand,    &kInspectCommand, &kDataCommand,     &kFilesCommand,
    &kHloCommand,     &kFlopsCommand,    &kMachineCommand, &kQuantizeCommand, &kTpuV1Command,
    &kDevicesCommand, &kWorkerCommand,   &kCacheCommand,   &kVersionCommand};

void add_command(CommandLine& line, const Command& command) {
  CommandLine& added = line.command(command.name, command.summary);
  for (const char* example : command.examples) {
    if (example != nullptr) added.example(example);
  }
  command.add(added);
}

// `systole help`, `systole help flops`.
void add_help(CommandLine& root) {
  CommandLine& help = root.command("help", "Explains a command, or lists all commands");
  auto names = std::make_shared<std::vector<std::string>>();
  help.option("command", *names, "The command to explain: `data`, `data convert`");
  help.example("train");
  help.example("data convert");
  help.on_run([&root, names] {
    const CommandLine* shown = &root;
    for (const std::string& name : *names) {
      const CommandLine* below = shown->find_command(name);
      if (below == nullptr) {
        const std::string where = shown == &root ? "" : shown->full_name() + ": ";
        throw UsageError(where + shown->no_command(name));
      }
      shown = below;
    }
    std::fputs(shown->help().c_str(), stdout);
  });
}

int run(int argc, char** argv) {
  CommandLine line("systole",
                   "Systole trains neural networks the way the TPU stack does, natively in C++.");
  line.require_command();
  line.version("systole " SYSTOLE_VERSION, "Shows the version");
  line.example("train examples/configs/iris.yaml");
  line.example("help train");
  for (const Command* command : kCommands) add_command(line, *command);
  add_help(line);
  if (argc == 1) {
    std::fputs(line.help().c_str(), stdout);
    return 0;
  }
  return line.run(argc, argv);
}

}  // namespace

void add_commands(CommandLine& line, std::span<const Command> commands) {
  line.require_command();
  for (const Command& command : commands) add_command(line, command);
}

}  // namespace systole::app

int main(int argc, char** argv) { return systole::app::run(argc, argv); }
