// A constant rate for each range of steps.
#pragma once

#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "systole/graph/core/op_error.h"
#include "systole/train/schedules/schedule_def.h"

namespace systole {

// values[0] while x <= boundaries[0], values[1] while x <= boundaries[1], and so on; then the last.
// Errors: INVALID_ARGUMENT unless boundaries ascend and there is one value more than boundaries.
inline Output piecewise_constant(const Input& x, const std::vector<int64_t>& boundaries,
                                 const std::vector<double>& values,
                                 const std::string& name = "PiecewiseConstant") {
  if (values.size() != boundaries.size() + 1) {
    throw at_line(invalid_argument(
                      "piecewise_constant: number of values, got {} for {} boundaries, expected {}",
                      values.size(), boundaries.size(), boundaries.size() + 1),
                  x.where());
  }
  if (std::ranges::adjacent_find(boundaries, std::greater_equal<>()) != boundaries.end()) {
    throw at_line(
        invalid_argument("piecewise_constant: boundaries, got [{}], expected rising values",
                         fmt::join(boundaries, ", ")),
        x.where());
  }
  for (const double value : values) {
    check_hyperparameter("piecewise_constant", "value", value, HyperparameterRange::not_negative,
                         x.where());
  }
  const NameScope scope(name);
  const Output step = cast(x, DType::s64);
  Output result = constant(static_cast<float>(values.back()));
  for (size_t i = boundaries.size(); i-- > 0;) {
    result = where(less_equal(step, boundaries[i]), static_cast<float>(values[i]), result);
  }
  return result;
}

namespace rules {
struct PiecewiseConstant : ScheduleRule {
  static constexpr std::array kArguments = {
      RuleArgument{.name = "boundaries",
                   .kind = RuleArgumentKind::integers,
                   .doc = "Last step of each rate except the last."},
      RuleArgument{.name = "values",
                   .kind = RuleArgumentKind::numbers,
                   .doc = "The rates, one more than boundaries."}};
  static Output make(const RuleValues& v, const Input& step) {
    const std::vector<double>& bounds = v.list("boundaries");
    return piecewise_constant(step, std::vector<int64_t>(bounds.begin(), bounds.end()),
                              v.list("values"));
  }
  static constexpr ScheduleDef def{.name = "piecewise_constant",
                                   .doc = "A constant rate for each range of steps.",
                                   .arguments = kArguments,
                                   .make = make};
};
}  // namespace rules

namespace train {
using systole::piecewise_constant;
}  // namespace train

}  // namespace systole
