#include <algorithm>

#include "systole/base/log.h"
#include "systole/estimator/hook_pass.h"
#include "systole/estimator/impl.h"
#include "systole/estimator/train_summaries.h"

namespace systole {
namespace {

std::vector<Variable> accumulators_of(const MetricMap& metrics) {
  std::vector<Variable> all;
  for (const auto& [name, metric] : metrics) {
    all.insert(all.end(), metric.accumulators.begin(), metric.accumulators.end());
  }
  return all;
}

// The one that is there takes as many steps as it was made for.
void make_runner(estimator::BuiltModel& built, int64_t replicas, int64_t steps,
                 Precision precision) {
  if (built.runner && built.runner->options().max_steps == steps) return;
  std::vector<Operation> updates;
  for (const auto& [name, metric] : built.model.metrics) updates.emplace_back(metric.update_op);
  built.runner.emplace(built.model, *built.session,
                       estimator::Runner::Options{.targets = std::move(updates),
                                                  .replicas = replicas,
                                                  .max_steps = steps,
                                                  .summed = accumulators_of(built.model.metrics),
                                                  .precision = precision});
}

// Of no examples there is no metric: zeros would look like one.
std::map<std::string, Tensor, std::less<>> metric_values(const estimator::Model& model,
                                                         Session& session, int64_t examples) {
  std::map<std::string, Tensor, std::less<>> named;
  if (examples == 0) {
    log_warning("evaluate: input, got no examples: there is nothing to measure");
    return named;
  }
  std::vector<Fetch> fetches;
  for (const auto& [name, metric] : model.metrics) fetches.emplace_back(metric.value);
  std::vector<Tensor> values = session.run(fetches);
  for (const auto& [name, metric] : model.metrics) {
    named[name] = std::move(values[named.size()]);
  }
  return named;
}

}  // namespace

Evaluation TPUEstimator::Impl::evaluate(const InputFn& input_fn, const EvaluateOptions& eval) {
  if (eval.steps && *eval.steps <= 0) {
    throw invalid_argument("Must specify steps > 0, given: {}", *eval.steps);
  }
  const std::string prefix = checkpoint_for(eval.checkpoint_path);
  const estimator::Input input = make_input(input_fn, Mode::eval);
  const std::shared_ptr<estimator::BuiltModel> built = build(input, Mode::eval, eval.hooks);
  const estimator::Model& model = built->model;
  Session* const session = built->session.get();
  estimator::HookPass hooks(eval.hooks, model.spec.evaluation_hooks, *model.graph);
  restore(model, *session, prefix);
  const int64_t global_step = session->variable_value(model.global_step).item<int64_t>();

  estimator::Feed feed(
      input, {.max_steps = 1, .pad = true, .fixed = false, .iterator = {.entropy = entropy()}});
  const int64_t limit = eval.steps.value_or(INT64_MAX);
  const int64_t steps_each =
      estimator::launch_steps(std::min<int64_t>(limit, 32), feed.step_bytes());
  feed.set_max_steps(steps_each);
  make_runner(*built, input.replicas, steps_each, config.tpu_config.precision);
  Evaluation result;
  hooks.start(*session, global_step);
  const auto launch = [&](int64_t before) { return std::min(steps_each, limit - before); };
  int64_t done = 0;
  while (done < limit && hooks.before()) {
    const int64_t steps = launch(done);
    const auto batches = feed.next(steps, launch(done + steps));
    if (!batches) break;
    built->runner->run(*batches);
    done += batches->steps;
    result.examples_ += batches->examples;
    if (!hooks.after()) break;
  }
  hooks.end();
  if (eval.steps && done < *eval.steps) {
    log_warning("evaluate: the input ended after {} of {} batches ({} examples)", done, *eval.steps,
                result.examples_);
  }
  result.values_ = metric_values(model, *session, result.examples_);
  result.values_["global_step"] = Tensor(global_step);
  estimator::write_evaluation(
      config.model_dir + (eval.name.empty() ? "/eval" : "/eval_" + eval.name), global_step,
      result.values_);
  log_info("Saving dict for global step {}: {}", global_step, result.to_string());
  return result;
}

}  // namespace systole
