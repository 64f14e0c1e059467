#include "systole/train/loop/monitored_session.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "systole/base/log.h"
#include "systole/graph/api/lookup_ops.h"
#include "systole/graph/api/state_ops.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/train/loop/checkpointer.h"
#include "systole/train/loop/hook_runner.h"
#include "systole/train/loop/train_summaries.h"

namespace systole {
namespace {

Graph& graph_of(const SessionConfig& config) {
  return config.graph != nullptr ? *config.graph : Graph::current();
}

std::optional<Variable> global_step_of(const Graph& graph) {
  const auto found = graph.collection<Variable>(graph_keys::global_step);
  return found.empty() ? std::nullopt : std::optional(found[0]);
}

}  // namespace

struct MonitoredSession::Impl {
  explicit Impl(MonitoredSessionOptions given);

  HookList hooks_with_saver();
  void begin_session();
  void save(Session& session, int64_t step);
  int64_t step_now(int64_t runs);
  std::vector<Tensor> run(std::span<const Fetch> fetches, std::span<const FeedItem> feeds);
  void close(bool at_end);

  MonitoredSessionOptions options;
  Graph& graph;
  std::optional<Variable> global_step;
  std::optional<train::Checkpointer> checkpointer;
  std::optional<Session> session;  // made once hooks have added to the graph; outlives them
  train::HookRunner hooks;
  int64_t step = 0;
  bool stopped = false;
  bool input_ended = false;  // in the last run
  bool closed = false;
  const int exceptions = std::uncaught_exceptions();
};

MonitoredSession::Impl::Impl(MonitoredSessionOptions given)
    : options(std::move(given)), graph(graph_of(options.config)), hooks(hooks_with_saver(), graph) {
  SessionConfig config = options.config;
  config.graph = &graph;
  session.emplace(options.master, config);
  global_step = global_step_of(graph);  // a hook may have made one
  begin_session();
  step = step_now(0);
  stopped = !hooks.start(*session, step);
}

HookList MonitoredSession::Impl::hooks_with_saver() {
  HookList all = options.hooks;
  auto schedule = train::take_checkpoint_schedule(all);
  if (!schedule) return all;
  if (options.checkpoint_dir.empty()) {
    throw invalid_argument(
        "MonitoredSession: checkpoint_dir, got none, expected a folder for CheckpointSaverHook");
  }
  schedule->save = [this](Session& of, int64_t at) { save(of, at); };
  schedule->wait = [this] {
    if (checkpointer) checkpointer->join();
  };
  all.push_back(std::make_shared<CheckpointSaverHook>(*std::move(schedule)));
  return all;
}

void MonitoredSession::Impl::begin_session() {
  const GraphScope scope(graph);
  const std::vector<Variable> variables = global_variables();
  if (!options.checkpoint_dir.empty() && !variables.empty()) {
    default_file_system().make_directories(options.checkpoint_dir);
    checkpointer.emplace(options.checkpoint_dir, SaverOptions());
  }
  if (!checkpointer || !checkpointer->restore_variables(*session)) {
    session->run({global_variables_initializer()});
    if (options.scaffold.init_fn) options.scaffold.init_fn(*session);
  }
  // Local variables may start with the values of global ones.
  session->run({local_variables_initializer(), tables_initializer()});
  if (checkpointer) checkpointer->restore_rest(*session, hooks);
}

void MonitoredSession::Impl::save(Session& of, int64_t at) {
  if (checkpointer) checkpointer->save(of, at, hooks);  // else there are no variables
}

// Returns the global step, or `runs` if the graph has none.
int64_t MonitoredSession::Impl::step_now(int64_t runs) {
  if (!global_step) return runs;
  return session->variable_value(*global_step).cast(DType::s64).item<int64_t>();
}

std::vector<Tensor> MonitoredSession::Impl::run(std::span<const Fetch> fetches,
                                                std::span<const FeedItem> feeds) {
  if (closed) throw failed_precondition("Attempted to use a closed Session.");
  if (stopped) throw failed_precondition("Run called even after should_stop requested.");
  input_ended = false;
  hooks.before();
  std::vector<Fetch> all(fetches.begin(), fetches.end());
  all.insert(all.end(), hooks.fetches().begin(), hooks.fetches().end());
  const auto start = std::chrono::steady_clock::now();
  try {
    std::vector<Tensor> values = session->run(all, feeds);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    const int64_t before = std::exchange(step, step_now(step + 1));
    stopped =
        !hooks.after({.global_step = step, .steps = step - before, .seconds = seconds.count()},
                     std::span(values).subspan(fetches.size()));
    values.resize(fetches.size());
    return values;
  } catch (const Error& error) {
    input_ended = error.code() == Code::out_of_range;
    throw;
  }
}

void MonitoredSession::Impl::close(bool at_end) {
  if (closed) return;
  stopped = true;
  train::FirstError errors;
  if (at_end) errors.attempt([&] { hooks.end(); });
  if (checkpointer) errors.attempt([&] { checkpointer->join(); });
  session->close();
  closed = true;
  errors.rethrow();
}

MonitoredSession::MonitoredSession(MonitoredSessionOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}

MonitoredSession::~MonitoredSession() {
  const bool failed = std::uncaught_exceptions() > impl_->exceptions && !impl_->input_ended;
  try {
    impl_->close(/*at_end=*/!failed);
  } catch (const std::exception& error) {
    log_error("MonitoredSession: close, got {}", error.what());
  }
}

std::vector<Tensor> MonitoredSession::run(std::span<const Fetch> fetches,
                                          std::span<const FeedItem> feeds) {
  return impl_->run(fetches, feeds);
}

bool MonitoredSession::should_stop() const { return impl_->stopped; }
int64_t MonitoredSession::global_step() const { return impl_->step; }
Session& MonitoredSession::raw_session() { return *impl_->session; }
void MonitoredSession::close() { impl_->close(/*at_end=*/true); }

namespace {

// A schedule: one of the two is set.
struct Schedule {
  std::optional<int64_t> steps = std::nullopt;
  std::optional<double> secs = std::nullopt;
};

// Returns `usual` if nothing is given, nothing if it is off. `what`: "save_checkpoint".
std::optional<Schedule> schedule_of(std::string_view what, Schedule given, const Schedule& usual) {
  if (!given.steps && !given.secs) return usual;
  if (given.steps.value_or(0) <= 0) given.steps.reset();
  if (given.secs.value_or(0) <= 0) given.secs.reset();
  if (given.steps && given.secs) {
    throw invalid_argument("{}_secs and {}_steps, got both, expected one", what, what);
  }
  return given.steps || given.secs ? std::optional(given) : std::nullopt;
}

std::shared_ptr<train::TrainSummariesHook> summaries_of(
    const MonitoredTrainingSessionOptions& options, const std::string& folder) {
  const auto schedule = schedule_of(
      "save_summaries",
      {.steps = options.save_summaries_steps, .secs = options.save_summaries_secs}, {.steps = 100});
  if (!schedule || folder.empty()) return nullptr;
  return std::make_shared<train::TrainSummariesHook>(
      SummarySaverHook::Options{
          .save_steps = schedule->steps, .save_secs = schedule->secs, .output_dir = folder},
      Output());
}

std::shared_ptr<CheckpointSaverHook> checkpoints_of(
    const MonitoredTrainingSessionOptions& options) {
  const auto schedule =
      schedule_of("save_checkpoint",
                  {.steps = options.save_checkpoint_steps, .secs = options.save_checkpoint_secs},
                  {.secs = 600});
  if (!schedule || options.checkpoint_dir.empty()) return nullptr;
  const auto is_users = [](const auto& hook) { return train::is_checkpoint_schedule(hook.get()); };
  if (std::ranges::any_of(options.hooks, is_users)) return nullptr;
  return std::make_shared<CheckpointSaverHook>(
      CheckpointSaverHook::Options{.save_steps = schedule->steps, .save_secs = schedule->secs});
}

MonitoredSessionOptions with_usual_hooks(MonitoredTrainingSessionOptions options) {
  MonitoredSessionOptions result{.master = std::move(options.master),
                                 .checkpoint_dir = options.checkpoint_dir,
                                 .hooks = options.hooks,
                                 .scaffold = std::move(options.scaffold),
                                 .config = options.config};
  const std::string folder =
      options.summary_dir.empty() ? options.checkpoint_dir : options.summary_dir;
  if (!options.checkpoint_dir.empty() && !global_step_of(graph_of(options.config))) {
    throw invalid_argument("Global step should be created to use CheckpointSaverHook.");
  }
  const auto summaries = summaries_of(options, folder);
  if (summaries) result.hooks.push_back(summaries);
  if (options.log_step_count_steps > 0) {
    StepCounterHook::Options counter{.every_n_steps = options.log_step_count_steps};
    if (summaries) {
      counter.record = [summaries](int64_t step, double steps_per_sec, double) {
        summaries->add_scalar("global_step/sec", step, steps_per_sec);
      };
    }
    result.hooks.push_back(std::make_shared<StepCounterHook>(std::move(counter)));
  }
  const auto checkpoints = checkpoints_of(options);
  if (checkpoints) result.hooks.push_back(checkpoints);
  return result;
}

}  // namespace

MonitoredTrainingSession::MonitoredTrainingSession(MonitoredTrainingSessionOptions options)
    : MonitoredSession(with_usual_hooks(std::move(options))) {}

}  // namespace systole
