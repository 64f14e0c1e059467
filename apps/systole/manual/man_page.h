// Manual pages for man(1), made from the command tree.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "systole/base/command_line.h"

namespace systole::app {

struct ManPage {
  std::string file;  // "systole-data-convert.1"
  std::string text;  // in the macros of man(7)
};

// Returns the page of the command and those of all commands below it. The pages name each other.
std::vector<ManPage> man_pages(const CommandText& command, std::string_view version);

}  // namespace systole::app
