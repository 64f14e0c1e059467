// The commands of this folder. Each declares its options and what it does when it is chosen.
#pragma once

#include <CLI/CLI.hpp>

namespace systole::app {

void add_inspect_command(CLI::App& app);
void add_predict_command(CLI::App& app);

}  // namespace systole::app
