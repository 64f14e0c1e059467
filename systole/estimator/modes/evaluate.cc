#include <algorithm>
#include <cstring>

#include "systole/base/log.h"
#include "systole/estimator/impl.h"
#include "systole/estimator/modes/endless_input.h"
#include "systole/estimator/modes/host_calls.h"
#include "systole/train/loop/batch_diagnosis.h"
#include "systole/train/loop/hook_runner.h"
#include "systole/train/loop/signals.h"
#include "systole/train/loop/step_driver.h"
#include "systole/train/loop/train_loop.h"
#include "systole/train/loop/train_summaries.h"
#include "systole/train/loop/watchdog.h"

namespace systole {
namespace {

using train::Heartbeat;

std::vector<Variable> accumulators_of(const MetricMap& metrics) {
  std::vector<Variable> all;
  for (const auto& [name, metric] : metrics) {
    all.insert(all.end(), metric.accumulators.begin(), metric.accumulators.end());
  }
  return all;
}

std::vector<Operation> updates_of(const estimator::Model& model) {
  std::vector<Operation> updates;
  for (const auto& [name, metric] : model.metrics) updates.emplace_back(metric.update_op);
  return updates;
}

// One pass over the input. evaluate() makes it; a thread that may be abandoned runs it, so it owns
// what it uses.
struct EvaluationPass : train::StepListener, train::StepInput {
  estimator::Input input;
  std::shared_ptr<estimator::BuiltModel> built;
  std::optional<train::HookRunner> hooks;
  std::optional<data::StepFeed> feed;
  runtime::ProgramOptions program;
  runtime::ProcessGroup* processes = nullptr;  // that evaluate together; null: this one alone
  bool has_limit = false;                      // the caller gave a number of batches
  int64_t limit = INT64_MAX;                   // batches
  int64_t launch_steps = 1;                    // batches of one launch at most
  int64_t global_step = 0;
  int64_t done = 0;
  int64_t examples = 0;
  bool loss_is_finite = true;  // so far

  void run(Heartbeat& heartbeat);

 private:
  void make_runner(int64_t steps);
  // What the driver calls:
  std::optional<data::StackedSteps> next(int64_t steps, int64_t ahead) override {
    return filled_up(feed->next(steps, ahead));
  }
  std::string advice() const override { return feed->report().advice(); }
  int64_t position() const override { return done; }
  bool goes_on() override;
  int64_t launch_limit(int64_t after) override;
  bool after_launch(const train::StepLaunch& launch) override;

  // Returns the values for hooks.
  std::vector<Tensor> note_results(const train::StepLaunch& launch);
  // `mean`: the mean loss of all batches so far, one value for each replica.
  void check_loss(const Tensor& mean, const data::StackedSteps& batches);
  // The batches of this process, filled up to as many as another has; nullopt at the end of all.
  std::optional<data::StackedSteps> filled_up(std::optional<data::StackedSteps> batches) const;
  bool calls_host() const { return static_cast<bool>(built->model.spec.host_call); }

  std::optional<train::StepDriver> driver;
  std::optional<estimator::EndlessInputWarning> endless;
  Heartbeat* heartbeat = nullptr;  // of run()
};

// Keeps an existing runner if its fetches and the steps of a launch are the same.
void EvaluationPass::make_runner(int64_t steps) {
  std::optional<train::StepRunner>& runner = built->runner;
  const estimator::Model& model = built->model;
  std::vector<Output> fetches = hooks->fetches();
  fetches.push_back(model.metrics.at("loss").update_op);
  const std::vector<Output> of_host =
      estimator::host_call_fetches(model.spec.host_call, model.mask);
  fetches.insert(fetches.end(), of_host.begin(), of_host.end());
  if (runner && runner->options().max_steps == steps && runner->options().fetches == fetches) {
    return;
  }
  runner.emplace(*built->session,
                 StepLoopOptions{.inputs = model.inputs,
                                 .fetches = std::move(fetches),
                                 .targets = updates_of(model),
                                 .num_replicas = static_cast<int>(input.replicas),
                                 .processes = processes,
                                 .max_steps = steps,
                                 .keep = calls_host() ? StepLoopOptions::Keep::every_step
                                                      : StepLoopOptions::Keep::last,
                                 .summed = accumulators_of(model.metrics),
                                 .program = program},
                 model.mask);
}

int64_t EvaluationPass::launch_limit(int64_t after) {
  return std::min({launch_steps, hooks->steps_to_next_run(global_step), limit - done - after});
}

// The first batches that make the mean not finite are the ones to look at: it stays so. Bad input
// is an error, as in training; a model may well have an infinite loss on good input.
void EvaluationPass::check_loss(const Tensor& mean, const data::StackedSteps& batches) {
  if (!loss_is_finite || !first_non_finite(mean)) return;
  loss_is_finite = false;
  const estimator::Model& model = built->model;
  const std::string reason = train::diagnose_batch({.inputs = model.inputs,
                                                    .input_names = model.input_names,
                                                    .loss = model.spec.loss,
                                                    .replicas = input.replicas},
                                                   batches, done);
  const std::string what =
      fmt::format("evaluate: loss, got one that is not finite in batches {} to {}", done + 1,
                  done + batches.steps);
  if (!reason.empty()) throw failed_precondition("{}, expected finite numbers; {}", what, reason);
  log_warning("{}: features and labels are in order, so it is the model that computes it", what);
}

std::vector<Tensor> EvaluationPass::note_results(const train::StepLaunch& launch) {
  const size_t count = hooks->fetches().size();
  const int64_t steps = launch.batches.steps;
  check_loss(launch.results[count], launch.batches);
  estimator::run_host_calls(built->model.spec.host_call, launch.results.subspan(count + 1),
                            {.first = done,
                             .steps = steps,
                             .first_replica = input.layout == estimator::Layout::broadcast},
                            *heartbeat);
  return train::hook_values(launch.results.first(count), calls_host() ? steps : 0);
}

// Sets the steps from `first` on to zeros, in stacks [replicas, K, ...].
void clear_steps(std::vector<Tensor>& stacks, int64_t first) {
  for (Tensor& stack : stacks) {
    stack = stack.clone();
    const int64_t replicas = stack.dim(0);
    const int64_t steps = stack.dim(1);
    const auto bytes = static_cast<size_t>(stack.byte_size() / (replicas * steps));
    for (int64_t r = 0; r < replicas; ++r) {
      auto* const place =
          static_cast<std::byte*>(stack.raw()) + static_cast<size_t>(r * steps + first) * bytes;
      std::memset(place, 0, static_cast<size_t>(steps - first) * bytes);
    }
  }
}

// Stacks of zeros: batches without examples.
data::StackedSteps empty_steps(const estimator::Input& input, int64_t max_steps) {
  data::StackedSteps empty;
  empty.types = input.features.flatten();
  const std::vector<TensorType> labels = input.labels.flatten();
  empty.types.insert(empty.types.end(), labels.begin(), labels.end());
  std::vector<TensorType> all = empty.types;
  all.push_back({DType::f32, {input.replica_batch.value_or(1)}});
  for (const TensorType& type : all) {
    Dims dims = type.shape.dims();
    dims.insert(dims.begin(), {input.replicas, max_steps});
    empty.stacks.push_back(Tensor::zeros(type.dtype, Shape(dims)));
  }
  return empty;
}

// Processes whose input has ended take part with batches without examples.
std::optional<data::StackedSteps> EvaluationPass::filled_up(
    std::optional<data::StackedSteps> batches) const {
  if (!driver->has_others()) return batches;
  const int64_t own = batches ? batches->steps : 0;
  const int64_t most = -driver->agreed(-own);
  if (most == 0) return std::nullopt;
  if (!batches) batches = empty_steps(input, launch_steps);
  if (own < most) clear_steps(batches->stacks, own);
  batches->steps = most;
  return batches;
}

bool EvaluationPass::goes_on() {
  return done >= limit || driver->agreed(hooks->before() ? 1 : 0) == 1;
}

bool EvaluationPass::after_launch(const train::StepLaunch& launch) {
  const std::vector<Tensor> values = note_results(launch);
  done += launch.batches.steps;
  examples += launch.batches.examples;
  endless->note(examples);
  if (!hooks->after({.global_step = global_step,
                     .steps = launch.batches.steps,
                     .seconds = launch.seconds + launch.batches.waited_seconds,
                     .examples = launch.batches.examples},
                    values)) {
    return false;
  }
  if (const char* signal = StopSignals::received(); signal != nullptr && done < limit) {
    throw make_error(Code::cancelled,
                     "evaluate: metrics, got {} after {}, expected the end of the input", signal,
                     done == 1 ? "1 batch" : fmt::format("{} batches", done));
  }
  return true;
}

void EvaluationPass::run(Heartbeat& watched) {
  heartbeat = &watched;
  // Hooks count launches: nothing but their steps and the input's size decides their length.
  driver.emplace(train::StepDriverOptions{
      .input = this,
      .run = [this](const data::StackedSteps& batches) { return built->runner->run(batches); },
      .processes = processes,
      .launch_seconds = 0,
      .stops_on_signals = false,
      .work = "evaluation"});
  {
    const Heartbeat::Visit visit(watched, Heartbeat::At::input, 0, 1);
    const int64_t bytes = feed->step_bytes();
    launch_steps =
        driver->agreed(train::launch_steps(std::min(limit, train::kMaxKeptSteps), bytes));
  }
  feed->set_max_steps(launch_steps);
  make_runner(launch_steps);
  hooks->start(*built->session, global_step);
  endless.emplace(has_limit);
  driver->drive(*this, watched);
  hooks->end();
}

// The metrics are worth more than their event file: a folder that cannot be written is a warning.
void write_events(const std::string& folder, const Evaluation& result,
                  const std::string& checkpoint_path) {
  try {
    train::write_evaluation(folder, static_cast<int64_t>(result["global_step"]), result.values(),
                            checkpoint_path);
  } catch (const Error& error) {
    log_warning(
        "evaluate: event file, got {}, expected a folder that can be written: TensorBoard "
        "will not show this evaluation",
        error.message());
  }
}

// Without examples there are no metrics: zeros would look like values.
Evaluation::Values metric_values(const estimator::Model& model, Session& session,
                                 int64_t examples) {
  Evaluation::Values named;
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
  const StopSignals signals("stopping after the batches under way; again to stop at once");
  const Place& where = place(Mode::eval);
  require_checkpoint(eval.checkpoint_path, Mode::eval);
  const auto pass = std::make_shared<EvaluationPass>();
  pass->input = make_input(input_fn, Mode::eval);
  pass->built = build(pass->input, Mode::eval, eval.hooks);
  const estimator::Model& model = pass->built->model;
  Session& session = *pass->built->session;
  HookList hooks = eval.hooks;
  hooks.insert(hooks.end(), model.spec.evaluation_hooks.begin(), model.spec.evaluation_hooks.end());
  pass->hooks.emplace(std::move(hooks), *model.graph);
  pass->hooks->add_prints(*model.graph,
                          estimator::host_call_fetches(model.spec.host_call, model.mask),
                          updates_of(model));
  const std::string checkpoint = where.host() == 0 ? checkpoint_for(eval.checkpoint_path) : "";
  shared_restore(model, session, eval.checkpoint_path, Mode::eval);
  pass->global_step = session.variable_value(model.global_step).item<int64_t>();
  pass->feed.emplace(
      estimator::step_source(pass->input, /*pad=*/true),
      data::StackOptions{.max_steps = 1, .fixed = false, .iterator = {.entropy = entropy()}});
  pass->has_limit = eval.steps.has_value();
  pass->limit = eval.steps.value_or(INT64_MAX);
  pass->program = program_options();
  pass->processes = where.processes;
  train::run_watched(config.tpu_config.hang_timeout_secs, kHangOption,
                     [pass](Heartbeat& heartbeat) { pass->run(heartbeat); });
  if (where.hosts() > 1) {
    using Wait = runtime::ProcessGroup::Wait;
    pass->examples = where.processes->sum_of(pass->examples, Wait::rare);
  }
  if (eval.steps && pass->done < *eval.steps) {
    log_warning("evaluate: the input ended after {} of {} batches ({} examples)", pass->done,
                *eval.steps, pass->examples);
  }
  Evaluation::Values values = metric_values(model, session, pass->examples);
  values["global_step"] = Tensor(pass->global_step);
  Evaluation result(std::move(values), pass->examples);
  if (where.host() > 0) return result;
  write_events(config.model_dir + (eval.name.empty() ? "/eval" : "/eval_" + eval.name), result,
               checkpoint);
  log_info("Saving dict for global step {}: {}", pass->global_step, result.to_string());
  return result;
}

}  // namespace systole
