#include <algorithm>
#include <chrono>
#include <cmath>

#include "systole/base/log.h"
#include "systole/base/number_text.h"
#include "systole/estimator/hooks/hook_runner.h"
#include "systole/estimator/hooks/signals.h"
#include "systole/estimator/hooks/watchdog.h"
#include "systole/estimator/impl.h"
#include "systole/estimator/model_dir_lock.h"
#include "systole/estimator/modes/host_calls.h"
#include "systole/estimator/modes/train_summaries.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/train/async_saver.h"

namespace systole {
namespace {

using estimator::Heartbeat;
using estimator::Model;
using estimator::Runner;

void check_steps(const TrainOptions& options, bool use_tpu) {
  if (options.steps && options.max_steps) {
    throw invalid_argument("Can not provide both steps and max_steps.");
  }
  if (options.steps && *options.steps <= 0) {
    throw invalid_argument("Must specify steps > 0, given: {}", *options.steps);
  }
  if (options.max_steps && *options.max_steps <= 0) {
    throw invalid_argument("Must specify max_steps > 0, given: {}", *options.max_steps);
  }
  if (use_tpu && !options.steps && !options.max_steps) {
    throw invalid_argument(
        "For TPU training, one of `steps` or `max_steps` must be set. Cannot be both `None`.");
  }
}

// How much of the time of loops is spent waiting for their input.
struct InputWait {
  double seconds = 0;
  double waited = 0;
  double share() const { return seconds > 0 ? waited / seconds : 0; }
};

// One call of train(): from the checkpoint to the last step.
class Training {
 public:
  Training(TPUEstimator::Impl& estimator, const InputFn& input_fn, const TrainOptions& options);
  void run(Heartbeat& heartbeat);

 private:
  HookList make_hooks();
  std::vector<Operation> targets() const;
  void add_checkpoints(HookList& hooks);
  void start();
  bool restore();
  void begin_at_global_step();
  void initialize();
  void make_feed();
  void begin_input();
  void make_runner(int64_t step_bytes);
  void prepare();
  // Of the loop that begins with step `step`.
  int64_t loop_length(int64_t step);
  int64_t launch_after(int64_t done, int64_t steps);
  // Runs up to `steps` steps; returns how many the input had.
  int64_t run_loop(int64_t steps);
  std::span<const Tensor> launch(const data::StackedSteps& batches, int64_t first);
  void use_results(std::span<const Tensor> results, int64_t first, int64_t steps);
  void note_wait(double seconds);
  bool after_run(int64_t steps, double seconds);
  void end();
  void save(Session& session, int64_t step);

  TPUEstimator::Impl& estimator_;  // the caller's: for the constructor alone
  const TrainOptions options_;
  const RunConfig config_;
  Heartbeat* heartbeat_ = nullptr;  // of run()
  estimator::Input input_;
  Model model_;
  std::shared_ptr<estimator::TrainSummariesHook> summaries_;
  std::optional<estimator::HookRunner> hooks_;
  Scaffold scaffold_;
  std::unique_ptr<Session> session_;
  std::optional<Saver> saver_;
  std::optional<AsyncSaver> async_saver_;
  CheckpointExtras restored_;
  data::StackOptions feed_options_;
  std::optional<data::StepFeed> feed_;
  std::optional<Runner> runner_;
  std::optional<IterationCountEstimator> timed_loop_;
  int64_t launch_ = 1;  // steps of one launch at most
  int64_t step_ = 0;
  int64_t last_step_ = INT64_MAX;
  int64_t examples_ = 0;                       // of the loop
  std::vector<runtime::StepProfile> profile_;  // the same
  double waited_ = 0;                          // of the loop, for its input; seconds
  InputWait input_wait_;                       // since the last summary of it
  InputWait since_first_;  // since the first loop, whose input nothing could hide
  bool first_loop_done_ = false;
  bool warned_of_input_ = false;
  std::vector<Tensor> values_;
  bool input_ended_ = false;
};

Training::Training(TPUEstimator::Impl& estimator, const InputFn& input_fn,
                   const TrainOptions& options)
    : estimator_(estimator),
      options_(options),
      config_(estimator.config),
      input_(estimator.make_input(input_fn, Mode::train)),
      model_(estimator.trace(input_, Mode::train)) {
  const IterationsPerLoop& iterations = config_.tpu_config.iterations_per_loop;
  if (iterations.is_time()) timed_loop_.emplace(iterations.seconds());
  estimator.check(model_, Mode::train);
  feed_options_ = {.fixed = estimator_.place(Mode::train).use_tpu,
                   .iterator = {.entropy = estimator_.entropy(), .keeps_errors = false}};
  hooks_.emplace(make_hooks(), *model_.graph);
  hooks_->add_prints(*model_.graph, estimator::host_call_fetches(model_.spec.host_call, {}),
                     targets());
  start();
}

HookList Training::make_hooks() {
  const Output& loss = model_.spec.loss;
  HookList hooks;
  hooks.push_back(std::make_shared<NanTensorHook>(loss, /*fail_on_nan_loss=*/true,
                                                  estimator_.place(Mode::train).replicas));
  if (config_.save_summary_steps > 0) {
    summaries_ = std::make_shared<estimator::TrainSummariesHook>(
        SummarySaverHook::Options{.save_steps = config_.save_summary_steps,
                                  .output_dir = config_.model_dir},
        loss);
    hooks.push_back(summaries_);
  }
  if (config_.log_step_count_steps > 0) {
    hooks.push_back(std::make_shared<LoggingTensorHook>(LoggingTensorHook::Options{
        .tensors = {{"loss", loss}}, .every_n_iter = config_.log_step_count_steps}));
    hooks.push_back(std::make_shared<StepCounterHook>(
        StepCounterHook::Options{.every_n_steps = config_.log_step_count_steps,
                                 .record = [this](int64_t step, double steps, double examples) {
                                   if (!summaries_) return;
                                   summaries_->add_scalar("global_step/sec", step, steps);
                                   summaries_->add_scalar("examples/sec", step, examples);
                                   summaries_->add_scalar("input_wait", step, input_wait_.share());
                                   input_wait_ = {};
                                 }}));
  }
  hooks.insert(hooks.end(), options_.hooks.begin(), options_.hooks.end());
  const HookList& of_model = model_.spec.training_hooks;
  hooks.insert(hooks.end(), of_model.begin(), of_model.end());
  add_checkpoints(hooks);
  return hooks;
}

// By the schedule of the user's hook, or of the RunConfig.
void Training::add_checkpoints(HookList& hooks) {
  const auto save_now = [this](Session& session, int64_t step) { save(session, step); };
  if (auto users = estimator::take_checkpoint_schedule(hooks)) {
    users->save = save_now;
    // Behind all others: it saves their states.
    hooks.push_back(std::make_shared<CheckpointSaverHook>(*std::move(users)));
    return;
  }
  const std::optional<int64_t> steps = config_.save_checkpoints_steps;
  const std::optional<int64_t> secs = config_.save_checkpoints_secs;
  const bool off = steps.value_or(0) == 0 && secs.value_or(0) == 0 && (steps || secs);
  if (!off) {
    CheckpointSaverHook::Options checkpoint{.save = save_now};
    if (steps.value_or(0) > 0) {
      checkpoint.save_steps = *steps;
    } else {
      checkpoint.save_secs = static_cast<double>(secs.value_or(600));
    }
    hooks.push_back(std::make_shared<CheckpointSaverHook>(std::move(checkpoint)));
  } else if (!options_.saving_listeners.empty()) {
    throw invalid_argument(
        "There should be a CheckpointSaverHook to use saving_listeners. Please set one of the "
        "RunConfig.save_checkpoints_steps or RunConfig.save_checkpoints_secs.");
  }
}

void Training::start() {
  if (model_.spec.scaffold_fn) {
    const GraphScope scope(*model_.graph);
    scaffold_ = model_.spec.scaffold_fn();
  }
  session_ = estimator_.make_session(model_, estimator_.place(Mode::train).target);
  saver_.emplace(
      SaverOptions{.var_list = model_.variables(graph_keys::global_variables),
                   .max_to_keep = static_cast<int>(config_.keep_checkpoint_max),
                   .keep_checkpoint_every_n_hours = config_.keep_checkpoint_every_n_hours,
                   .write_meta_graph = config_.checkpoint_save_graph_def});
  async_saver_.emplace(*saver_);
  const bool resumed = restore();
  if (resumed) begin_at_global_step();
  prepare();
  if (!resumed) {
    initialize();
    begin_at_global_step();
  }
  estimator::restore_random_state(*session_, restored_);
  hooks_->restore_states(restored_);
  hooks_->start(*session_, step_);
}

void Training::begin_at_global_step() {
  step_ = session_->variable_value(model_.global_step).item<int64_t>();
  if (options_.max_steps) last_step_ = *options_.max_steps;
  if (options_.steps) last_step_ = step_ + *options_.steps;
}

// From the latest checkpoint; false when there is none.
bool Training::restore() {
  const RestoredCheckpoint found = saver_->restore_latest(
      *session_, config_.model_dir, {.allow_weights_only = config_.allow_weights_only});
  if (found.prefix.empty()) return false;
  log_info("Restoring parameters from {}", found.prefix);
  if (!found.extras.contains("input")) {
    log_warning("{}: no input position and random numbers beside the weights; both start anew",
                found.prefix);
  }
  restored_ = found.extras;
  return true;
}

void Training::initialize() {
  const GraphScope scope(*model_.graph);
  session_->run({global_variables_initializer()});
  estimator_.warm_start(model_, *session_);
  if (scaffold_.init_fn) scaffold_.init_fn(*session_);
}

// The input goes on where it stood, unless it is another now.
void Training::make_feed() {
  feed_.emplace(estimator::step_source(input_, /*pad=*/false), feed_options_);
  const auto position = restored_.find("input");
  if (position == restored_.end()) return;
  try {
    feed_->restore_state(position->second);
  } catch (const Error& error) {
    if (error.code() != Code::failed_precondition) throw;
    log_warning("input: begins anew, as the checkpoint has the position of another: {}",
                error.message());
    feed_.emplace(estimator::step_source(input_, /*pad=*/false), feed_options_);
  }
}

void Training::begin_input() {
  {
    const Heartbeat::Visit visit(*heartbeat_, Heartbeat::At::input, step_, step_ + 1);
    make_feed();
    if (!runner_) make_runner(feed_->step_bytes());
  }
  feed_->set_max_steps(launch_);
}

// Where batches have one size the step is compiled beside what else there is to do before it runs.
void Training::prepare() {
  std::vector<TensorType> types = input_.features.flatten();
  const std::vector<TensorType> labels = input_.labels.flatten();
  types.insert(types.end(), labels.begin(), labels.end());
  if (step_ >= last_step_ || !std::ranges::all_of(types, &TensorType::is_static)) return;
  make_runner(data::step_bytes_of(types, input_.replicas));
  runner_->prepare(types);
}

// Moving averages are updated whether or not the model_fn thought of it.
std::vector<Operation> Training::targets() const {
  std::vector<Operation> all = {model_.spec.train_op};
  for (const Operation& update : model_.graph->collection<Operation>(graph_keys::update_ops)) {
    all.push_back(update);
  }
  return all;
}

void Training::make_runner(int64_t step_bytes) {
  const int64_t most = options_.steps ? *options_.steps : options_.max_steps.value_or(INT64_MAX);
  const int64_t wanted =
      timed_loop_ ? 1000 : std::min(config_.tpu_config.iterations_per_loop.count(), most);
  launch_ = estimator::launch_steps(wanted, step_bytes);
  const HostCall& host_call = model_.spec.host_call;
  Runner::Options runner{
      .fetches = hooks_->fetches(),
      .targets = targets(),
      .replicas = input_.replicas,
      .max_steps = launch_,
      .keep = host_call ? StepLoopOptions::Keep::every_step : StepLoopOptions::Keep::last,
      .precision = config_.tpu_config.precision};
  const std::vector<Output> of_host = estimator::host_call_fetches(host_call, {});
  runner.fetches.insert(runner.fetches.end(), of_host.begin(), of_host.end());
  runner_.emplace(model_, *session_, std::move(runner));
}

int64_t Training::loop_length(int64_t step) {
  const int64_t wanted =
      timed_loop_ ? timed_loop_->next() : config_.tpu_config.iterations_per_loop.count();
  return std::min(wanted, last_step_ - step);
}

// The launch after `done` of the `steps` of a loop: its own next one, or the first of the next
// loop.
int64_t Training::launch_after(int64_t done, int64_t steps) {
  return std::min(launch_, done < steps ? steps - done : loop_length(step_ + steps));
}

// Of a launch: what hooks see, and the host_call.
void Training::use_results(std::span<const Tensor> results, int64_t first, int64_t steps) {
  const HostCall& host_call = model_.spec.host_call;
  const size_t of_hooks = hooks_->fetches().size();
  const int64_t every = config_.tpu_config.experimental_host_call_every_n_steps.value_or(1);
  estimator::run_host_calls(host_call, results.subspan(of_hooks),
                            {.first = first,
                             .steps = steps,
                             .in_loop = first - step_,
                             .every = every,
                             .first_replica = input_.layout == estimator::Layout::broadcast},
                            *heartbeat_);
  values_ = estimator::hook_values(results.first(of_hooks), host_call ? steps : 0);
}

std::span<const Tensor> Training::launch(const data::StackedSteps& batches, int64_t first) {
  return heartbeat_->launch(first, batches.steps, [&] {
    return runner_->run(batches, hooks_->profile_requested() ? &profile_ : nullptr);
  });
}

int64_t Training::run_loop(int64_t steps) {
  int64_t done = 0;
  examples_ = 0;
  waited_ = 0;
  profile_.clear();
  while (done < steps && !input_ended_) {
    const int64_t first = step_ + done;
    const int64_t launched = std::min(launch_, steps - done);
    const auto batches = [&] {
      const Heartbeat::Visit visit(*heartbeat_, Heartbeat::At::input, first, first + launched);
      return feed_->next(launched, launch_after(done + launched, steps));
    }();
    input_ended_ = !batches;
    if (!batches) break;
    const std::span<const Tensor> results = launch(*batches, first);
    done += batches->steps;
    examples_ += batches->examples;
    waited_ += batches->waited_seconds;
    use_results(results, first, batches->steps);
  }
  return done;
}

// Says once that the device waits, and what for.
void Training::note_wait(double seconds) {
  constexpr double kTolerated = 0.1;
  constexpr double kSecondsToTell = 1;
  input_wait_.seconds += seconds;
  input_wait_.waited += waited_;
  if (!std::exchange(first_loop_done_, true) || warned_of_input_) return;
  since_first_.seconds += seconds;
  since_first_.waited += waited_;
  if (since_first_.seconds < kSecondsToTell || since_first_.share() < kTolerated) return;
  warned_of_input_ = true;
  log_warning("input: training waits {:.0f} % of its time for it. {}", 100 * since_first_.share(),
              feed_->report().advice());
}

// False when a hook wants no more loops.
bool Training::after_run(int64_t steps, double seconds) {
  note_wait(seconds);
  step_ += steps;
  return hooks_->after({.global_step = step_,
                        .steps = steps,
                        .seconds = seconds,
                        .examples = examples_,
                        .profile = std::move(profile_)},
                       values_);
}

void Training::save(Session& session, int64_t step) {
  log_info("Saving checkpoints for {} into {}/model.ckpt.", step, config_.model_dir);
  SaveOptions save_options{.global_step = step};
  {
    // It waits for what the input reads ahead.
    const Heartbeat::Visit visit(*heartbeat_, Heartbeat::At::position, step, step);
    save_options.extras["input"] = feed_->save_state();
  }
  save_options.extras["random"] = session.random_state();
  hooks_->save_states(save_options.extras);
  async_saver_->save(session, config_.model_dir + "/model.ckpt", save_options);
  if (summaries_) summaries_->note_checkpoint(step, config_.model_dir + "/model.ckpt");
  if (options_.saving_listeners.empty()) return;
  async_saver_->join();
  for (const auto& listener : options_.saving_listeners) listener(session, step);
}

void Training::run(Heartbeat& heartbeat) {
  if (options_.max_steps && step_ >= *options_.max_steps) {
    log_info("Skipping training since max_steps has already saved.");
    return;
  }
  heartbeat_ = &heartbeat;
  begin_input();
  while (step_ < last_step_ && !input_ended_) {
    if (!hooks_->before()) break;
    const auto start = std::chrono::steady_clock::now();
    const int64_t steps = run_loop(loop_length(step_));
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (steps == 0) break;
    if (timed_loop_) timed_loop_->loop_done(steps, seconds.count());
    if (!after_run(steps, seconds.count())) break;
    if (const char* signal = StopSignals::received()) {
      log_warning("{}: training stops after step {}, which is saved", signal, step_);
      break;
    }
  }
  end();
}

void Training::end() {
  hooks_->end();
  async_saver_->join();
  if (input_ended_ && last_step_ != INT64_MAX && step_ < last_step_) {
    log_warning("input: ended after step {} of {}, expected as many batches, or repeat()", step_,
                last_step_);
  }
  if (!values_.empty()) log_info("Loss for final step: {}.", number_text(values_[0]));
}

}  // namespace

void TPUEstimator::Impl::train(const InputFn& input_fn, const TrainOptions& train_options) {
  check_steps(train_options, place(Mode::train).use_tpu);
  default_file_system().make_directories(config.model_dir);
  // What hangs still holds the folder.
  const auto lock = std::make_shared<const ModelDirLock>(config.model_dir);
  const auto training = std::make_shared<Training>(*this, input_fn, train_options);
  const StopSignals signals;
  estimator::run_watched(config.tpu_config.hang_timeout_secs,
                         [lock, training](Heartbeat& heartbeat) { training->run(heartbeat); });
}

}  // namespace systole
