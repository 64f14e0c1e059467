// The commands below `systole hlo`, one file each.
#pragma once

#include <CLI/CLI.hpp>

namespace systole::app {

void add_run_command(CLI::App& app);
void add_test_command(CLI::App& app);
void add_opt_command(CLI::App& app);
void add_bench_command(CLI::App& app);
void add_support_command(CLI::App& app);

}  // namespace systole::app
