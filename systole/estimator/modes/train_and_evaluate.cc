#include <chrono>
#include <set>
#include <utility>

#include "systole/base/log.h"
#include "systole/estimator/estimator.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/runtime/process_group.h"
#include "systole/train/loop/signals.h"

namespace systole {
namespace {

void check_exporters(const ExporterList& exporters) {
  std::set<std::string> names;
  for (const auto& exporter : exporters) {
    if (exporter == nullptr) throw invalid_argument("`exporters`, got none, expected an exporter");
    if (exporter->name().empty()) {
      throw invalid_argument("An Exporter cannot have a name that is `None` or empty.");
    }
    if (!names.insert(exporter->name()).second) {
      throw invalid_argument(
          "`exporters` must have unique names. Such a name, got '{}' twice, expected one folder "
          "each",
          exporter->name());
    }
  }
}

// Before anything is trained.
void check_specs(const TrainSpec& train, const EvalSpec& eval) {
  for (const InputFn* input_fn : {&train.input_fn, &eval.input_fn}) {
    if (!*input_fn) throw invalid_argument("input_fn: function, got none, expected one");
  }
  if (train.max_steps.value_or(1) <= 0) {
    throw invalid_argument("Must specify max_steps > 0, given: {}", *train.max_steps);
  }
  if (eval.steps.value_or(1) <= 0) {
    throw invalid_argument("Must specify steps > 0, given: {}", *eval.steps);
  }
  if (!(eval.throttle_secs >= 0)) {
    throw invalid_argument("Must specify throttle_secs >= 0, given: {}", eval.throttle_secs);
  }
  check_exporters(eval.exporters);
}

// The evaluations of one training, and the exports after them.
class Evaluations {
 public:
  Evaluations(TPUEstimator& estimator, const EvalSpec& spec) : estimator_(estimator), spec_(spec) {}

  const Evaluation& last() const { return last_; }
  bool is_due() const {
    const std::chrono::duration<double> since = Clock::now() - when_;
    return step_ < 0 || since.count() >= spec_.throttle_secs;
  }

  void run(int64_t step, bool is_final) {
    try {
      last_ = estimator_.evaluate(spec_.input_fn,
                                  {.steps = spec_.steps, .hooks = spec_.hooks, .name = spec_.name});
      export_models(is_final);
    } catch (const Error& error) {
      if (error.code() != Code::cancelled || StopSignals::received() == nullptr) throw;
      log_warning("{}", error.message());
    }
    step_ = step;
    when_ = Clock::now();
  }

  // Training ended with a checkpoint of `step`.
  void finish(int64_t step) {
    if (step_ != step || step_ < 0) return run(step, true);
    if (!exported_final_) export_models(true);
  }

 private:
  using Clock = std::chrono::steady_clock;

  void export_models(bool is_final) {
    exported_final_ = is_final;
    const runtime::ProcessGroup* const group = runtime::process_group();
    if (group != nullptr && group->rank() > 0) return;  // the first process writes
    for (const auto& exporter : spec_.exporters) {
      const std::string folder =
          join_path(join_path(estimator_.model_dir(), "export"), exporter->name());
      exporter->export_model(estimator_, folder, estimator_.latest_checkpoint(), last_, is_final);
    }
  }

  TPUEstimator& estimator_;
  const EvalSpec& spec_;
  Evaluation last_;
  int64_t step_ = -1;  // of the last evaluation
  bool exported_final_ = false;
  Clock::time_point when_;
};

}  // namespace

Evaluation train_and_evaluate(TPUEstimator& estimator, const TrainSpec& train_spec,
                              const EvalSpec& eval_spec) {
  check_specs(train_spec, eval_spec);
  Evaluations evaluations(estimator, eval_spec);
  runtime::ProcessGroup* const all = runtime::process_group();
  runtime::ProcessGroup* const group = all != nullptr && all->size() > 1 ? all : nullptr;
  int64_t saved = -1;
  TrainOptions options{.max_steps = train_spec.max_steps, .hooks = train_spec.hooks};
  options.saving_listeners.emplace_back([&](Session&, int64_t step) {
    const bool is_first = std::exchange(saved, step) < 0;
    if (is_first) return;                 // nothing is learned yet
    if (StopSignals::received()) return;  // whoever stops it wants it to end
    if (group != nullptr) return;         // other processes are not here: evaluated at the end
    const bool is_final = train_spec.max_steps && step >= *train_spec.max_steps;
    if (evaluations.is_due()) evaluations.run(step, is_final);
  });
  estimator.train(train_spec.input_fn, options);
  if (group != nullptr) saved = std::stoll(group->broadcast(std::to_string(saved)));
  if (saved < 0) {
    log_info("train_and_evaluate: the model is trained already; nothing is evaluated");
    return {};
  }
  if (!StopSignals::received()) evaluations.finish(saved);
  return evaluations.last();
}

}  // namespace systole
