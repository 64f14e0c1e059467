// The command line: `systole help` lists the commands.
#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include "apps/systole/command.h"

namespace systole::app {
namespace {

constexpr const Command* kCommands[] = {&kCheckCommand,    &kDataCommand,    &kDevicesCommand,
                                        &kEvaluateCommand, &kExportCommand,  &kFlopsCommand,
                                        &kHloCommand,      &kInspectCommand, &kPredictCommand,
                                        &kTrainCommand,    &kVersionCommand};

// Null when there is no such command.
const CLI::App* find_command(const CLI::App& root, const std::string& name) {
  const auto found =
      root.get_subcommands([&](const CLI::App* command) { return command->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

// `systole help`, `systole help flops`.
void add_help(CLI::App& root) {
  CLI::App* help = root.add_subcommand("help", "Explains a command, or lists them all");
  auto name = std::make_shared<std::string>();
  help->add_option("command", *name, "The command to explain");
  help->callback([&root, name] {
    const CLI::App* shown = &root;
    if (!name->empty() && *name != "help") {
      shown = find_command(root, *name);
      if (shown == nullptr)
        throw CLI::ValidationError("help", "no command '" + *name + "': see systole help");
    }
    std::fputs(shown->get_formatter()
                   ->make_help(shown, shown->get_name(), CLI::AppFormatMode::Normal)
                   .c_str(),
               stdout);
  });
}

int run(int argc, char** argv) {
  CLI::App app("Systole trains neural networks the way the TPU stack does, natively in C++.",
               "systole");
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::help);
  for (const Command* command : kCommands)
    command->add(*app.add_subcommand(command->name, command->summary));
  add_help(app);
  if (argc > 1 && argv[1][0] != '-' && find_command(app, argv[1]) == nullptr) {
    std::fprintf(stderr, "systole: no command '%s': see systole help\n", argv[1]);
    return 2;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "systole: %s\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace systole::app

int main(int argc, char** argv) { return systole::app::run(argc, argv); }
