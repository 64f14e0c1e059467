// Scripts that complete commands, options and values in a shell, made from the command tree.
#pragma once

#include <string>

#include "systole/base/command_line.h"

namespace systole::app {

std::string bash_completion(const CommandText& root);
std::string zsh_completion(const CommandText& root);
std::string fish_completion(const CommandText& root);

}  // namespace systole::app
