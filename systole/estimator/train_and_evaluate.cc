#include <chrono>

#include "systole/base/log.h"
#include "systole/estimator/estimator.h"
#include "systole/estimator/signals.h"

namespace systole {

Evaluation train_and_evaluate(TPUEstimator& estimator, const TrainSpec& train_spec,
                              const EvalSpec& eval_spec) {
  using Clock = std::chrono::steady_clock;
  Evaluation last;
  int64_t evaluated = -1;
  Clock::time_point when;
  const auto evaluate = [&](int64_t step) {
    try {
      last = estimator.evaluate(
          eval_spec.input_fn,
          {.steps = eval_spec.steps, .hooks = eval_spec.hooks, .name = eval_spec.name});
    } catch (const Error& error) {
      if (error.code() != Code::cancelled || StopSignals::received() == nullptr) throw;
      log_warning("{}", error.message());
    }
    evaluated = step;
    when = Clock::now();
  };
  const int64_t first = estimator.latest_checkpoint().empty() ? 0 : -1;
  int64_t saved = -1;
  TrainOptions options{.max_steps = train_spec.max_steps, .hooks = train_spec.hooks};
  options.saving_listeners.emplace_back([&](Session&, int64_t step) {
    saved = step;
    if (step == first) return;            // nothing is learned yet
    if (StopSignals::received()) return;  // whoever stops it wants it to end
    const std::chrono::duration<double> since = Clock::now() - when;
    if (evaluated < 0 || since.count() >= eval_spec.throttle_secs) evaluate(step);
  });
  estimator.train(train_spec.input_fn, options);
  if (StopSignals::received()) return last;
  if (evaluated != saved || evaluated < 0) evaluate(saved);
  return last;
}

}  // namespace systole
