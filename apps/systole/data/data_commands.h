// The commands below `systole data`, one file each.
#pragma once

#include "systole/base/command_line.h"

namespace systole::app {

void add_convert_command(CommandLine& line);
void add_inspect_data_command(CommandLine& line);
void add_bench_data_command(CommandLine& line);

}  // namespace systole::app
