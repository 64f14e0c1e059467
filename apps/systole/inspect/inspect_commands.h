// The commands of this folder. Each function declares the options and the action of one.
#pragma once

#include "systole/base/command_line.h"

namespace systole::app {

void add_inspect_command(CommandLine& line);
void add_predict_command(CommandLine& line);

}  // namespace systole::app
