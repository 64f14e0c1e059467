// The keys of things that are defined once for all front ends, and their values in a file.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "apps/systole/config/config_section.h"
#include "systole/graph/core/rule_arguments.h"

namespace systole::app {

// A text that lives as long as the program, as those of ConfigKey must.
const char* kept(std::string text);
std::span<const ConfigKey> kept_keys(std::vector<ConfigKey> keys);

// "1e-8"
std::string shown_number(double number);
const NumberRule& number_rule(HyperparameterRange range);

// The keys of the arguments that tf.train's form has, and `more` after them.
std::span<const ConfigKey> rule_keys(std::span<const RuleArgument> arguments,
                                     std::span<const ConfigKey> more = {});
// Reads the values of these keys. Errors: those of ConfigSection.
RuleValues rule_values(std::span<const RuleArgument> arguments, const ConfigSection& section);

}  // namespace systole::app
