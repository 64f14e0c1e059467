// The commands below `systole data`, one file each.
#pragma once

#include <CLI/CLI.hpp>

namespace systole::app {

void add_convert_command(CLI::App& app);
void add_inspect_data_command(CLI::App& app);
void add_bench_data_command(CLI::App& app);

}  // namespace systole::app
