// The commands of `systole hlo`, one file each.
#pragma once

#include "systole/base/command_line.h"

namespace systole::app {

void add_run_command(CommandLine& line);
void add_test_command(CommandLine& line);
void add_opt_command(CommandLine& line);
void add_translate_command(CommandLine& line);
void add_bench_command(CommandLine& line);
void add_support_command(CommandLine& line);

}  // namespace systole::app
