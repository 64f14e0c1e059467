// Checks of an estimator's model: TPUEstimator::check(), and what the other modes do first.
#include "systole/estimator/check/check.h"

#include <optional>
#include <utility>
#include <vector>

#include "systole/estimator/impl.h"

namespace systole {

void TPUEstimator::Impl::check(const estimator::Model& model, Mode mode) {
  const Place& where = place(mode);
  const Check wanted = config.tpu_config.check.value_or(where.use_tpu ? Check::error
                                                        : plain       ? Check::off
                                                                      : Check::warn);
  if (wanted == Check::off) return;
  estimator::enforce(
      estimator::check_model(model, {.replicas = where.replicas, .core_memory = where.core_memory}),
      wanted);
}

CheckReport TPUEstimator::Impl::check(const InputFn& input_fn, Mode mode) {
  const Place& where = place(mode);
  estimator::InputOptions wanted = input_options(mode);
  std::vector<Violation> of_input;
  // Returns the input; nothing after it recorded a violation.
  const auto try_input = [&](std::string fix) -> std::optional<estimator::Input> {
    try {
      return estimator::make_input(input_fn, wanted);
    } catch (const Error& error) {
      if (error.code() != Code::invalid_argument) throw;
      of_input.push_back({.what = std::string(error.message()), .fix = std::move(fix)});
      return std::nullopt;
    }
  };
  const std::string other_input = "change what the input_fn returns";
  const int64_t too_many = wanted.batch_size.value_or(0) % where.all_replicas();
  std::optional<estimator::Input> input =
      try_input(too_many == 0 ? other_input : "change the batch size of the estimator");
  if (!input && too_many != 0) {
    // Continue with a batch that can be split, to find other violations.
    *wanted.batch_size += where.all_replicas() - too_many;
    input = try_input(other_input);
  }
  if (!input && wanted.use_tpu) {
    // Unknown shapes are reported by the check of the model, all at once.
    wanted.use_tpu = false;
    of_input.pop_back();
    input = try_input(other_input);
  }
  if (!input) return {.violations = std::move(of_input)};
  CheckReport report = estimator::check_model(
      trace(*input, mode), {.replicas = where.replicas, .core_memory = where.core_memory});
  report.violations.insert(report.violations.begin(), of_input.begin(), of_input.end());
  return report;
}

CheckReport TPUEstimator::check(const InputFn& input_fn, const TPUCheckOptions& options) {
  CheckReport report = impl_->check(input_fn, options.mode);
  estimator::ask_compiler(options, report);
  return report;
}

}  // namespace systole
