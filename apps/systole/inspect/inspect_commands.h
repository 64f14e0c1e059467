// The commands of this folder. Each declares its options and what it does when it is chosen.
#pragma once

#include "systole/base/command_line.h"

namespace systole::app {

void add_inspect_command(CommandLine& line);
void add_predict_command(CommandLine& line);

}  // namespace systole::app
