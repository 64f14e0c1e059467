// The arguments of things that are defined once for all front ends, as Keras's configurations have
// them.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/graph/core/rule_arguments.h"
#include "systole/keras/base/json.h"

namespace systole::keras {

// "zeros zero" -> {"zeros", "zero"}
std::vector<std::string> split_names(std::string_view names);
// "binary_accuracy" -> "BinaryAccuracy"
std::string camel_case(std::string_view name);

// The names of Keras's arguments.
std::vector<std::string> keras_argument_names(std::span<const RuleArgument> arguments);
// The values of a configuration, those that it does not have by default; it may have others. Throws
// Json::exception for a value of another type.
RuleValues values_from_config(std::span<const RuleArgument> arguments, const Json& config);
// The configuration of all values.
Json config_of(std::span<const RuleArgument> arguments, const RuleValues& values);

}  // namespace systole::keras
