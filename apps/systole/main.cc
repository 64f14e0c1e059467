// The command line: `systole help` lists the commands.
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

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
  auto names = std::make_shared<std::vector<std::string>>();
  help->add_option("command", *names, "The command to explain: `data`, `data convert`");
  help->callback([&root, names] {
    const CLI::App* shown = &root;
    for (const std::string& name : *names) {
      if (name == "help") break;
      shown = find_command(*shown, name);
      if (shown == nullptr)
        throw CLI::ValidationError("help", "no command '" + name + "': see systole help");
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
  app.set_version_flag("--version", "systole " SYSTOLE_VERSION,
                       "The version, see also systole version");
  for (const Command* command : kCommands)
    command->add(*app.add_subcommand(command->name, command->summary));
  add_help(app);
  if (argc == 1) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  }
  if (argc > 1 && argv[1][0] != '-' && find_command(app, argv[1]) == nullptr) {
    std::fprintf(stderr, "systole: no command '%s': see systole help\n", argv[1]);
    return 2;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::RuntimeError& error) {  // the command has said why
    return error.get_exit_code();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    std::fprintf(stderr, "systole: %s\nsystole help COMMAND explains a command\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "systole: %s\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace systole::app

int main(int argc, char** argv) { return systole::app::run(argc, argv); }
