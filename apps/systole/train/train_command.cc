// systole train: trains, then evaluates if the file has data for it.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>

#include "apps/systole/train/config_reference.h"
#include "apps/systole/train/train_commands.h"
#include "systole/base/log.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/runtime/mpi_collective.h"
#include "systole/runtime/process_group.h"
#include "systole/train/loop/progress_hook.h"
#include "systole/train/loop/signals.h"

namespace systole::app {
namespace {

struct TrainCommand {
  ConfigOptions config;
  bool keys = false;
};

// The processes that train together; null if this one trains alone.
runtime::ProcessGroup* others() {
  runtime::ProcessGroup* const processes = runtime::process_group();
  return processes == nullptr || processes->size() == 1 ? nullptr : processes;
}

// Whether this process or one that trains with it was told to stop.
bool all_stop() {
  const int64_t stopped = StopSignals::received() == nullptr ? 0 : 1;
  const auto wait = runtime::ProcessGroup::Wait::rare;
  return (others() == nullptr ? stopped : others()->sum_of(stopped, wait)) > 0;
}

// The latest checkpoint as the first process finds it: model_dir need not be shared.
std::string shared_checkpoint(const TPUEstimator& estimator) {
  const std::string own = is_reporter() ? estimator.latest_checkpoint() : "";
  return others() == nullptr ? own : others()->broadcast(own);
}

[[noreturn]] void end_early(const char* what_next, const TPUEstimator& estimator) {
  const char* const signal = StopSignals::received();
  if (is_reporter()) {
    fmt::print("stopped by {}; {}\ncheckpoint: {}\n",
               signal == nullptr ? "another process" : signal, what_next,
               estimator.latest_checkpoint());
  }
  throw ExitStatus{signal == nullptr ? runtime::kRestartExitCode : StopSignals::exit_code()};
}

// Writes the configuration into the model_dir when training begins, for the comparison of runs in
// `systole board`. The name differs from one that a user gives to a copy.
class ConfigWriter final : public SessionRunHook {
 public:
  ConfigWriter(std::string folder, std::string text)
      : path_(join_path(folder, "config.systole.yaml")), text_(std::move(text)) {}

  int64_t steps_to_next_run(int64_t) const override { return INT64_MAX; }
  void after_create_session(Session&) override {
    if (!is_reporter() || text_.size() > kMaxBytes) return;
    try {
      write_file_atomically(default_file_system(), path_,
                            "# Written by `systole train`: its file, with --set.\n" + text_ + "\n");
    } catch (const Error& error) {
      log_warning("{}: not written: {}", path_, error.message());
    }
  }

 private:
  static constexpr size_t kMaxBytes = 200 << 10;  // the board reads no larger ones
  std::string path_;
  std::string text_;
};

// Returns false if a signal stopped it.
bool print_evaluation_of(TPUEstimator& estimator, TrainingConfig& config) {
  try {
    print_evaluation(estimator.evaluate(config.eval_input, config.evaluate));
    return true;
  } catch (const Error& error) {
    if (error.code() != Code::cancelled || StopSignals::received() == nullptr) throw;
    config.evaluate.hooks.clear();  // ends the line of its bar
    return false;
  }
}

void run_train(const TrainCommand& command) {
  if (command.keys) {
    fmt::print("{}", config_reference());
    return;
  }
  if (command.config.path.empty()) {
    throw UsageError("configuration file, got none, expected its name");
  }
  TrainingConfig config = command.config.read();
  const InputFn& input = needed_input(config.train_input, command.config.path, "train");
  // On a terminal the progress bar replaces the log; errors and warnings are still shown.
  const bool terminal = ::isatty(STDERR_FILENO) != 0;
  if (terminal && std::getenv("SYSTOLE_LOG") == nullptr) set_log_level(LogLevel::warning);
  const StopSignals signals;  // between training and evaluation, too
  TPUEstimator estimator(config.estimator);
  if (config.train.max_steps || config.train.steps) {
    config.train.hooks.push_back(std::make_shared<ProgressHook>(
        ProgressHook::Options{.last_step = config.train.max_steps.value_or(0),
                              .steps = config.train.steps,
                              .out = progress_file()}));
  }
  config.train.hooks.push_back(
      std::make_shared<ConfigWriter>(estimator.model_dir(), std::move(config.text)));
  config.evaluate.hooks.push_back(progress_of_evaluation(config.evaluate));
  estimator.train(input, config.train);
  if (all_stop()) end_early("run the same command to continue", estimator);
  const std::string checkpoint = shared_checkpoint(estimator);
  if (checkpoint.empty()) {
    if (is_reporter()) {
      log_warning("train: run_config saves no checkpoints, so there is nothing to evaluate");
    }
    return;
  }
  if (config.eval_input && !print_evaluation_of(estimator, config)) {
    end_early("training is complete; run systole evaluate for its metrics", estimator);
  }
  if (!is_reporter()) return;
  fmt::print(
      "checkpoint: {0}\ncurves: systole inspect {1} --plot curves.svg, or tensorboard --logdir "
      "{1}\n",
      checkpoint, estimator.model_dir());
}

}  // namespace

CommandLineOption add_config_options(CommandLine& line, ConfigOptions& options) {
  add_config_overrides(line, options.overrides);
  return line.option("config", options.path, "YAML: model, data and run; docs/training.md");
}

void add_config_overrides(CommandLine& line, TrainingOverrides& overrides) {
  line.option("--set", overrides.set,
              "Replaces or adds a value of the file: model.layers.0.Dense.units=64")
      .value_name("PATH=VALUE")
      .one_each();
  line.option("--model_dir", overrides.model_dir, "Overrides run_config.model_dir of the file")
      .value_name("FOLDER");
}

const InputFn& needed_input(const InputFn& input, const std::string& path, const char* key) {
  if (!input) {
    throw invalid_argument("{}: data, got no {}, expected a pipeline with examples", path, key);
  }
  return input;
}

void add_train_command(CommandLine& line) {
  auto command = std::make_shared<TrainCommand>();
  add_config_options(line, command->config);
  line.option("--steps", command->config.overrides.steps,
              "Trains so many more steps; overrides train.steps and train.max_steps")
      .positive();
  line.flag("--keys", command->keys, "Prints the reference of the file's keys, as Markdown");
  line.on_run([command] { run_train(*command); });
}

}  // namespace systole::app
