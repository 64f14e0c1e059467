// The command `systole board`.
#pragma once

#include "systole/base/command_line.h"

namespace systole::board {

void add_board_command(CommandLine& line);

}  // namespace systole::board
