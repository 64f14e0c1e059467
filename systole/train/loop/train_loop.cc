#include "systole/train/loop/train_loop.h"

#include <algorithm>
#include <chrono>
#include <random>

#include "systole/base/log.h"
#include "systole/graph/lowering/plan.h"
#include "systole/profile/triggers.h"
#include "systole/tracing/span.h"
#include "systole/train/loop/batch_diagnosis.h"
#include "systole/train/loop/share_variables.h"
#include "systole/train/loop/signals.h"

namespace systole::train {
namespace {

constexpr int64_t kTimedSteps = 1000;

// In a checkpoint that other numbers of processes can continue.
constexpr const char* kStepsRead = "input_steps";
constexpr const char* kEntropy = "input_entropy";

// A hook of rank 0, on other ranks: it is asked for what it fetches, so that the step is the same
// there, and is called for nothing else.
class FetchOnlyHook : public SessionRunHook {
 public:
  explicit FetchOnlyHook(std::shared_ptr<SessionRunHook> hook) : hook_(std::move(hook)) {}
  void begin() override { hook_->begin(); }
  std::vector<Output> fetches() override { return hook_->fetches(); }
  int64_t steps_to_next_run(int64_t) const override { return INT64_MAX; }

 private:
  std::shared_ptr<SessionRunHook> hook_;
};

int64_t count_updates(const Graph& graph, std::span<const Operation> targets,
                      std::span<const Output> fetches, const Variable& variable) {
  std::vector<const Node*> roots;
  for (const Operation& target : targets) roots.push_back(target.node());
  for (const Output& fetch : fetches) roots.push_back(fetch.node());
  const auto needed = ancestors(std::move(roots));
  return std::ranges::count_if(graph.nodes(), [&](const auto& node) {
    return needed.contains(node.get()) && has_effect(*node) &&
           std::ranges::find(node->inputs(), variable.handle()) != node->inputs().end();
  });
}

}  // namespace

TrainLoop::TrainLoop(TrainLoopOptions options)
    : options_(std::move(options)),
      driver_({.input = this,
               .run = [this](const data::StackedSteps& batches) { return runner_->run(batches); },
               .processes = options_.step.processes}) {
  profile::install_triggers(options_.records.directory.c_str());
  if (options_.iterations_per_loop && options_.iterations_per_loop->is_time()) {
    timed_loop_.emplace(options_.iterations_per_loop->seconds());
  }
  hooks_ = std::make_unique<HookRunner>(make_hooks(), *options_.graph);
  {
    const GraphScope scope(*options_.graph);
    targets_ = options_.complete_graph();
    global_step_ = get_or_create_global_step();
  }
  hooks_->add_prints(*options_.graph, options_.step.each_step, targets_);
  check_global_step();
  start();
}

TrainLoop::~TrainLoop() = default;

// The user's hooks come first, so that they see the loop whose loss is not finite.
HookList TrainLoop::make_hooks() {
  const Output& loss = options_.step.loss;
  const TrainRecords& records = options_.records;
  HookList hooks = options_.hooks;
  auto users_checkpoints = take_checkpoint_schedule(hooks);
  nan_hook_ =
      std::make_shared<NanTensorHook>(loss, options_.fail_on_nan, options_.step.all_replicas());
  hooks.push_back(nan_hook_);
  const bool first = options_.step.is_first();
  const auto add = [&](std::shared_ptr<SessionRunHook> hook) {
    hooks.push_back(first ? std::move(hook) : std::make_shared<FetchOnlyHook>(std::move(hook)));
  };
  if (records.save_summary_steps > 0) {
    summaries_ = std::make_shared<TrainSummariesHook>(
        SummarySaverHook::Options{.save_steps = records.save_summary_steps,
                                  .output_dir = records.directory},
        loss);
    add(summaries_);
  }
  if (records.log_step_count_steps > 0) {
    add(std::make_shared<LoggingTensorHook>(LoggingTensorHook::Options{
        .tensors = {{"loss", loss}}, .every_n_iter = records.log_step_count_steps}));
    add(std::make_shared<StepCounterHook>(StepCounterHook::Options{
        .every_n_steps = records.log_step_count_steps,
        .record = [this](int64_t step, double steps, double examples) {
          if (!summaries_) return;
          summaries_->add_scalar("global_step/sec", step, steps);
          summaries_->add_scalar("examples/sec", step, examples);
          summaries_->add_scalar("input_wait", step, driver_.take_wait_share());
        }}));
  }
  if (first) add_checkpoint_hook(hooks, std::move(users_checkpoints));
  return hooks;
}

// Last, because it saves the states of the others.
void TrainLoop::add_checkpoint_hook(HookList& hooks,
                                    std::optional<CheckpointSaverHook::Options> users) {
  const TrainRecords& records = options_.records;
  CheckpointSaverHook::Options hook =
      users ? *std::move(users)
            : CheckpointSaverHook::Options{.save_steps = records.save_checkpoints_steps,
                                           .save_secs = records.save_checkpoints_secs};
  hook.listeners.insert(hook.listeners.end(), records.listeners.begin(), records.listeners.end());
  if (!hook.save_steps && !hook.save_secs) {
    if (hook.listeners.empty()) return;
    throw invalid_argument(
        "There should be a CheckpointSaverHook to use saving_listeners. Please set one of the "
        "RunConfig.save_checkpoints_steps or RunConfig.save_checkpoints_secs.");
  }
  hook.save = [this](Session& session, int64_t step) { save(session, step); };
  hook.wait = [this] { checkpointer_->join(); };
  checkpoint_hook_ = std::make_shared<CheckpointSaverHook>(std::move(hook));
  hooks.push_back(checkpoint_hook_);
}

void TrainLoop::check_global_step() {
  step_increment_ = count_updates(*options_.graph, targets_, hooks_->fetches(), global_step_);
  if (step_increment_ > 0) return;
  throw invalid_argument(
      "train_op: variable 'global_step', got no assignment to it, expected one: training counts by "
      "this variable. Pass it to the optimizer: minimize(loss, {{.global_step = "
      "st::get_global_step()}})");
}

void TrainLoop::start() {
  session_ = options_.make_session();
  SaverOptions saver = options_.records.saver;
  if (saver.var_list.empty()) {
    saver.var_list = options_.graph->collection<Variable>(graph_keys::global_variables);
  }
  checkpointer_.emplace(options_.records.directory, std::move(saver), options_.records.restore);
  const auto initialize = [&] {
    const GraphScope scope(*options_.graph);
    options_.initialize(*session_);
  };
  const bool others = options_.step.has_others();
  const bool first = options_.step.is_first();
  const bool resumed = first && checkpointer_->restore_variables(*session_);
  if (others && first && !resumed) initialize();
  if (others) share_start();
  if (resumed || others) begin_at_global_step();
  prepare();
  if (!resumed && !others) {
    initialize();
    begin_at_global_step();
  }
  if (!others) checkpointer_->restore_rest(*session_, *hooks_);
  find_position();
  hooks_->start(*session_, step_);
}

// Gives all processes the variables, the random numbers and the hooks' states of rank 0.
void TrainLoop::share_start() {
  runtime::ProcessGroup& processes = *options_.step.processes;
  share_variables(*session_, options_.graph->collection<Variable>(graph_keys::global_variables),
                  processes);
  if (options_.step.is_first()) checkpointer_->restore_rest(*session_, *hooks_);
  session_->set_random_state(processes.broadcast(session_->random_state()));
}

// Finds where the input continues. Several processes read it again from its start, since the parts
// that they read depend on their number.
void TrainLoop::find_position() {
  entropy_ = options_.entropy;
  if (options_.step.processes == nullptr && !checkpointer_->restored(kStepsRead)) return;
  const auto restored = [&](const char* name) -> std::optional<uint64_t> {
    const auto text = checkpointer_->restored(name);
    return text ? std::optional(std::stoull(*text)) : std::nullopt;
  };
  steps_read_ = static_cast<int64_t>(restored(kStepsRead).value_or(static_cast<uint64_t>(step_)));
  if (const auto entropy = restored(kEntropy)) entropy_ = entropy;
  if (!entropy_)
    entropy_ = (static_cast<uint64_t>(std::random_device()()) << 32) | std::random_device()();
  if (!options_.step.has_others()) {
    if (!checkpointer_->restored("input")) steps_to_skip_ = steps_read_;
    return;
  }
  runtime::ProcessGroup& processes = *options_.step.processes;
  steps_read_ = std::stoll(processes.broadcast(std::to_string(steps_read_)));
  entropy_ = std::stoull(processes.broadcast(std::to_string(*entropy_)));
  steps_to_skip_ = steps_read_;
}

bool TrainLoop::save_is_due(int64_t steps) const {
  return checkpoint_hook_ != nullptr && checkpoint_hook_->is_due(step_ + steps * step_increment_);
}

int64_t TrainLoop::read_global_step() const {
  return session_->variable_value(global_step_).cast(DType::s64).item<int64_t>();
}

void TrainLoop::begin_at_global_step() {
  step_ = read_global_step();
  if (options_.max_steps) last_step_ = *options_.max_steps;
  if (options_.steps) last_step_ = step_ + *options_.steps;
}

void TrainLoop::make_feed(const std::optional<std::string>& position) {
  const data::StackOptions stacks{.fixed = options_.fixed_batch,
                                  .iterator = {.entropy = entropy_, .keeps_errors = false},
                                  .stop = [] { return StopSignals::received() != nullptr; }};
  feed_.emplace(options_.input, stacks);
  if (!position) return;
  try {
    feed_->restore_state(*position);
  } catch (const Error& error) {
    if (error.code() != Code::failed_precondition) throw;
    log_warning("input: starts from its beginning; the checkpoint has the position of another: {}",
                error.message());
    feed_.emplace(options_.input, stacks);
    return;
  }
  if (feed_->step_bytes() > 0) return;
  log_info("input: starts from its beginning; the checkpoint was saved at its end");
  feed_.emplace(options_.input, stacks);
}

void TrainLoop::begin_input() {
  {
    const Heartbeat::Visit visit(*heartbeat_, Heartbeat::At::input, step_, step_ + 1);
    make_feed(options_.step.has_others() ? std::nullopt : checkpointer_->restored("input"));
    if (!runner_) make_runner(feed_->step_bytes());
    feed_->set_max_steps(max_launch_steps_);
    skip_input();
  }
}

// Reads what earlier processes have read, which gives the same elements again.
void TrainLoop::skip_input() {
  if (steps_to_skip_ == 0) return;
  log_info("input: reads the {} steps before step {} again, to continue after them", steps_to_skip_,
           step_);
  while (steps_to_skip_ > 0) {
    const int64_t count = std::min(max_launch_steps_, steps_to_skip_);
    const auto batches = feed_->next(count, std::min(max_launch_steps_, steps_to_skip_ - count));
    if (!batches) {
      log_info("input: starts from its beginning; the checkpoint was saved at its end");
      make_feed(std::nullopt);
      feed_->set_max_steps(max_launch_steps_);
      steps_to_skip_ = 0;
      steps_read_ = 0;
      return;
    }
    steps_to_skip_ -= batches->steps;
  }
}

// Where batches have one size the step is compiled while the caller prepares the rest.
void TrainLoop::prepare() {
  const std::vector<TensorType>& types = options_.batch;
  if (step_ >= last_step_ || types.empty() || !std::ranges::all_of(types, &TensorType::is_static)) {
    return;
  }
  make_runner(data::step_bytes_of(types, options_.step.replicas));
  runner_->prepare(types);
}

void TrainLoop::make_runner(int64_t step_bytes) {
  const int64_t most = options_.steps.value_or(options_.max_steps.value_or(INT64_MAX));
  const int64_t wanted = timed_loop_                    ? kTimedSteps
                         : options_.iterations_per_loop ? options_.iterations_per_loop->count()
                                                        : kMaxLaunchSteps;
  max_launch_steps_ = launch_steps(std::min(wanted, most), step_bytes);
  const bool every_step = options_.on_steps != nullptr;
  StepLoopOptions runner{
      .inputs = options_.step.inputs,
      .fetches = hooks_->fetches(),
      .targets = targets_,
      .num_replicas = static_cast<int>(options_.step.replicas),
      .processes = options_.step.processes,
      .max_steps = max_launch_steps_,
      .keep = every_step ? StepLoopOptions::Keep::every_step : StepLoopOptions::Keep::last,
      .program = options_.step.program};
  const std::vector<Output>& each_step = options_.step.each_step;
  runner.fetches.insert(runner.fetches.end(), each_step.begin(), each_step.end());
  runner_.emplace(*session_, std::move(runner));
}

// Returns the steps of the loop that starts at `step`, at least 1.
int64_t TrainLoop::loop_length(int64_t step, int64_t last_step) const {
  const int64_t wanted =
      timed_loop_ ? timed_loop_->next()
      : options_.iterations_per_loop
          ? options_.iterations_per_loop->count()
          : std::min({hooks_->steps_to_next_run(step), max_launch_steps_, driver_.pace()});
  const int64_t left = last_step - step;
  return std::clamp<int64_t>(left / step_increment_ + (left % step_increment_ != 0 ? 1 : 0), 0,
                             wanted);
}

std::optional<data::StackedSteps> TrainLoop::next(int64_t steps, int64_t ahead) {
  return feed_->next(steps, ahead);
}

// Begins a loop where none has begun.
bool TrainLoop::goes_on() {
  if (loop_ || step_ >= run_until_) return true;
  const bool own = hooks_->before();
  const auto [all, steps] = driver_.agreed({own ? 1 : 0, loop_length(step_, run_until_)});
  if (all == 0) return false;
  bad_batch_.clear();
  loop_.emplace(step_, steps);
  return true;
}

// The launch after the loop's last one is the first of the next loop.
int64_t TrainLoop::launch_limit(int64_t after) {
  if (!loop_) return 0;
  const int64_t left = loop_->steps - loop_->done - after;
  if (left > 0) return std::min(max_launch_steps_, left);
  return std::min(max_launch_steps_, loop_length(step_ + loop_->steps * step_increment_,
                                                 std::max(read_until_, run_until_)));
}

bool TrainLoop::saves_after(int64_t steps) const {
  const int64_t done = loop_->done + steps;
  return done >= loop_->steps && save_is_due(done);
}

bool TrainLoop::after_launch(const StepLaunch& launch) {
  const int64_t first = position();
  const int64_t steps = launch.batches.steps;
  const size_t of_hooks = hooks_->fetches().size();
  if (options_.on_steps) {
    options_.on_steps({.values = launch.results.subspan(of_hooks),
                       .first = first,
                       .steps = steps,
                       .in_loop = loop_->done},
                      *heartbeat_);
  }
  values_ = hook_values(launch.results.first(of_hooks), options_.on_steps ? steps : 0);
  loop_->done += steps;
  loop_->examples += launch.batches.examples;
  steps_read_ += steps;
  if (!nan_hook_->is_finite(hooks_->values_of(*nan_hook_, values_))) {
    bad_batch_ = diagnose_batch(options_.step, launch.batches, first);
    return close_loop();
  }
  return loop_->done < loop_->steps || close_loop();
}

bool TrainLoop::close_loop() {
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - loop_->start;
  const int64_t steps = loop_->done;
  const int64_t examples = loop_->examples;
  loop_.reset();
  if (timed_loop_) timed_loop_->loop_done(steps, seconds.count());
  const int64_t before = std::exchange(step_, read_global_step());
  steps_run_ += steps;
  step_increment_ = std::max<int64_t>(1, (step_ - before + steps - 1) / steps);
  try {
    return hooks_->after(
        {.global_step = step_, .steps = steps, .seconds = seconds.count(), .examples = examples},
        values_);
  } catch (const Error& error) {
    if (bad_batch_.empty() || error.code() != Code::failed_precondition) throw;
    throw Error(error.code(), fmt::format("{}; {}", error.message(), bad_batch_));
  }
}

void TrainLoop::save(Session& session, int64_t step) {
  const tracing::Span span("save a checkpoint", tracing::Kind::checkpoint, {"step", step});
  if (options_.records.before_save) options_.records.before_save();
  CheckpointExtras extras;
  if (options_.step.processes != nullptr) {
    extras[kStepsRead] = std::to_string(steps_read_);
    extras[kEntropy] = std::to_string(*entropy_);
  }
  if (!options_.step.has_others()) {
    // It waits for what the input reads ahead.
    const Heartbeat::Visit visit(*heartbeat_, Heartbeat::At::position, step, step);
    extras["input"] = feed_->save_state();
  }
  checkpointer_->save(session, step, *hooks_, std::move(extras));
  if (summaries_) summaries_->note_checkpoint(step, checkpointer_->path());
}

TrainLoop::End TrainLoop::run_until(int64_t last_step, Heartbeat& heartbeat, int64_t read_until) {
  heartbeat_ = &heartbeat;
  run_until_ = last_step;
  read_until_ = read_until;
  loop_.reset();  // of a run that failed
  if (!feed_) begin_input();
  if (step_ < last_step && input_ended_) return End::input;
  const End end = driver_.drive(*this, heartbeat);
  input_ended_ = end == End::input;
  if (!loop_) return end;
  // It ended early.
  if (loop_->done == 0) {
    loop_.reset();
    return end;
  }
  const bool goes_on = close_loop() && StopSignals::received() == nullptr;
  return driver_.agreed(goes_on ? 1 : 0, runtime::ProcessGroup::Wait::rare) == 0 ? End::stopped
                                                                                 : end;
}

void TrainLoop::finish(Heartbeat& heartbeat) {
  heartbeat_ = &heartbeat;
  hooks_->end();
  checkpointer_->join();
  if (options_.step.has_others()) options_.step.processes->barrier();
}

std::optional<double> TrainLoop::last_loss() const {
  if (values_.empty()) return std::nullopt;
  return hooks_->values_of(*nan_hook_, values_)[0].as_double(0);
}

}  // namespace systole::train
