// Checks of the numbers that users give to optimizers, schedules and layers.
#pragma once

#include <cstdint>
#include <string_view>

#include "systole/graph/api/graph.h"

namespace systole {

enum class HyperparameterRange : uint8_t {
  not_negative,  // [0, inf)
  positive,      // (0, inf)
  fraction,      // [0, 1]
  below_one,     // [0, 1)
};

// Checks a number that is known when the graph is built; tensors pass. Errors: INVALID_ARGUMENT
// "<owner>: <name>, got -0.1, expected 0 or more", with the user's line, also for NaN and infinity.
void check_hyperparameter(std::string_view owner, std::string_view name, const Input& value,
                          HyperparameterRange range);
// The same for a plain number, given at `where`.
void check_hyperparameter(std::string_view owner, std::string_view name, double value,
                          HyperparameterRange range, SourceLocation where);

}  // namespace systole
