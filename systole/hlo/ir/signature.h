// The parameter and result types of computations.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/hlo/ir/module.h"

namespace systole::hlo {

std::vector<TensorType> types_of(std::span<const Value> values);
std::vector<TensorType> parameter_types(const Computation& computation);
// Errors: INTERNAL before set_results.
std::vector<TensorType> result_types(const Computation& computation);

// "(f32[2], s32[])"
std::string to_string(std::span<const TensorType> types);

// Errors: INVALID_ARGUMENT `<op>: <what>, got (..), expected (..)` unless the lists are equal.
void check_types(std::string_view op, std::string_view what, std::span<const TensorType> got,
                 std::span<const TensorType> expected);

}  // namespace systole::hlo
