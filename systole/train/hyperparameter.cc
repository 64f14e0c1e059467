#include "systole/train/hyperparameter.h"

#include <cmath>

#include "systole/graph/core/op_error.h"

namespace systole {
namespace {

bool is_within(double value, HyperparameterRange range) {
  if (!std::isfinite(value)) return false;
  switch (range) {
    case HyperparameterRange::not_negative:
      return value >= 0;
    case HyperparameterRange::positive:
      return value > 0;
    case HyperparameterRange::below_one:
      return value >= 0 && value < 1;
    case HyperparameterRange::not_positive:
      return value <= 0;
    default:
      return value >= 0 && value <= 1;
  }
}

std::string_view text_of(HyperparameterRange range) {
  switch (range) {
    case HyperparameterRange::not_negative:
      return "a number of 0 or more";
    case HyperparameterRange::positive:
      return "a number above 0";
    case HyperparameterRange::below_one:
      return "a number in [0, 1)";
    case HyperparameterRange::not_positive:
      return "a number of 0 or less";
    default:
      return "a number in [0, 1]";
  }
}

}  // namespace

void check_hyperparameter(std::string_view owner, std::string_view name, double value,
                          HyperparameterRange range, SourceLocation where) {
  if (is_within(value, range)) return;
  throw at_line(invalid_argument("{}: {}, got {}, expected {}", owner, name, value, text_of(range)),
                where);
}

void check_hyperparameter(std::string_view owner, std::string_view name, const Input& value,
                          HyperparameterRange range) {
  if (value.is_output()) return;
  const Tensor number = value.host_value();
  if (number.num_elements() != 1 || !is_numeric(number.dtype())) return;
  const double known = value.literal().value_or(number.as_double(0));
  check_hyperparameter(owner, name, known, range, value.where());
}

}  // namespace systole
