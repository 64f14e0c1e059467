#include "systole/graph/api/training_ops.h"
#include "systole/train/optimizer.h"

namespace systole {

FtrlOptimizer::FtrlOptimizer(Hyperparameter learning_rate, const FtrlOptions& options)
    : Optimizer(options.name),
      learning_rate_(checked_learning_rate("FtrlOptimizer", std::move(learning_rate))),
      options_(options) {
  const auto check = [](bool fits, std::string_view what, double got, std::string_view expected) {
    if (fits) return;
    throw invalid_argument("FtrlOptimizer: {}, got {}, expected {}", what, got, expected);
  };
  const auto check_not_negative = [&](std::string_view what, double got) {
    check(got >= 0, what, got, "0 or more");
  };
  check(options.learning_rate_power <= 0, "learning_rate_power", options.learning_rate_power,
        "0 or less");
  check_not_negative("initial_accumulator_value", options.initial_accumulator_value);
  check_not_negative("l1_regularization_strength", options.l1_regularization_strength);
  check_not_negative("l2_regularization_strength", options.l2_regularization_strength);
}

Operation FtrlOptimizer::apply(const Output& gradient, const Variable& variable) {
  return update(gradient, {}, variable);
}

Operation FtrlOptimizer::apply_sparse(const Output&, const IndexedSlices& slices,
                                      const Variable& variable) {
  const IndexedSlices rows = sum_duplicates(slices);
  return update(rows.values, rows.indices, variable);
}

Operation FtrlOptimizer::update(const Output& gradient, const Output& indices,
                                const Variable& variable) {
  const DType dtype = variable.dtype();
  const auto number = [&](double value) { return Input(value).resolve(dtype); };
  const double first = options_.initial_accumulator_value;
  return apply_ftrl({.var = variable.handle(),
                     .accum = get_or_create_slot(variable, "accum", name(), first).handle(),
                     .linear = get_or_create_slot(variable, "linear", name(), 0).handle(),
                     .learning_rate = resolve_learning_rate(learning_rate_, dtype),
                     .l1 = number(options_.l1_regularization_strength),
                     .l2 = number(options_.l2_regularization_strength),
                     .learning_rate_power = number(options_.learning_rate_power),
                     .gradient = gradient,
                     .indices = indices});
}

}  // namespace systole
