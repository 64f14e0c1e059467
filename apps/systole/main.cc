// The command line: `systole help` lists the commands.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "apps/systole/command.h"
#include "systole/base/suggest.h"

namespace systole::app {
namespace {

constexpr const Command* kCommands[] = {&kCheckCommand,    &kDataCommand,    &kDevicesCommand,
                                        &kEvaluateCommand, &kExportCommand,  &kFlopsCommand,
                                        &kHloCommand,      &kInspectCommand, &kPredictCommand,
                                        &kTrainCommand,    &kVersionCommand};

void add_command(CommandLine& line, const Command& command) {
  CommandLine& added = line.command(command.name, command.summary);
  if (command.hidden) added.hide();
  command.add(added);
}

std::string no_command(const std::string& name) {
  std::vector<std::string> names = {"help"};
  for (const Command* command : kCommands) names.emplace_back(command->name);
  return "no command '" + name + "'" + did_you_mean(name, names) + ": see systole help";
}

// `systole help`, `systole help flops`.
void add_help(CommandLine& root) {
  CommandLine& help = root.command("help", "Explains a command, or lists them all");
  auto names = std::make_shared<std::vector<std::string>>();
  help.option("command", *names, "The command to explain: `data`, `data convert`");
  help.on_run([&root, names] {
    const CommandLine* shown = &root;
    for (const std::string& name : *names) {
      if (name == "help") break;
      const CommandLine* below = shown->find_command(name);
      if (below == nullptr) throw UsageError("help: " + no_command(name));
      shown = below;
    }
    std::fputs(shown->help().c_str(), stdout);
  });
}

int run(int argc, char** argv) {
  CommandLine line("systole",
                   "Systole trains neural networks the way the TPU stack does, natively in C++.");
  line.require_command();
  line.version("systole " SYSTOLE_VERSION, "The version, see also systole version");
  for (const Command* command : kCommands) add_command(line, *command);
  add_help(line);
  if (argc == 1) {
    std::fputs(line.help().c_str(), stdout);
    return 0;
  }
  if (argv[1][0] != '-' && line.find_command(argv[1]) == nullptr) {
    std::fprintf(stderr, "systole: %s\n", no_command(argv[1]).c_str());
    return 2;
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
