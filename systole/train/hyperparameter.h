// Checks of the numbers that users give to optimizers, schedules and layers.
#pragma once

#include <string_view>

#include "systole/graph/optimizers/optimizer_def.h"

namespace systole {

// Checks a number that is known when the graph is built; tensors pass. Errors: INVALID_ARGUMENT
// "<owner>: <name>, got -0.1, expected 0 or more", with the user's line, also for NaN and infinity.
void check_hyperparameter(std::string_view owner, std::string_view name, const Input& value,
                          HyperparameterRange range);
// The same for a plain number, given at `where`.
void check_hyperparameter(std::string_view owner, std::string_view name, double value,
                          HyperparameterRange range, SourceLocation where);

}  // namespace systole
