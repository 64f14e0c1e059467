// systole hlo: StableHLO programs.
#include "apps/systole/command.h"
#include "apps/systole/hlo/hlo_commands.h"

namespace systole::app {
namespace {

constexpr Command kCommands[] = {
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
    .add = [](CommandLine& line) { add_commands(line, kCommands); },
};

}  // namespace systole::app
