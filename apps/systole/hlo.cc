// systole hlo: StableHLO programs.
#include "apps/systole/command.h"
#include "apps/systole/hlo/hlo_commands.h"

namespace systole::app {
namespace {

struct Row {
  const char* name;
  const char* summary;
  void (*add)(CLI::App& app);
  bool hidden = false;
};
constexpr Row kRows[] = {
    {"run", "Runs a program and prints or writes its results", add_run_command},
    {"test", "Runs programs that check themselves (check.expect_*)", add_test_command},
    {"opt", "Prints a program after our passes", add_opt_command},
    {"bench", "Times a program, and each of its steps", add_bench_command},
    {"support", "Writes the table of supported ops", add_support_command, true},
};

}  // namespace

const Command kHloCommand{
    .name = "hlo",
    .summary = "Runs, tests, optimises and times StableHLO programs",
    .add =
        [](CLI::App& app) {
          app.require_subcommand(1);
          for (const Row& row : kRows) {
            CLI::App* command = app.add_subcommand(row.name, row.summary);
            if (row.hidden) command->group("");
            row.add(*command);
          }
        },
};

}  // namespace systole::app
