// The variables of the environment that Systole reads.
#pragma once

#include <span>
#include <string>

namespace systole::app {

struct EnvironmentVariable {
  const char* name;
  const char* meaning;
};

// All variables, by topic.
std::span<const EnvironmentVariable> environment_variables();

// Returns the text of `systole help environment`, as wide as the terminal.
std::string environment_help();

}  // namespace systole::app
