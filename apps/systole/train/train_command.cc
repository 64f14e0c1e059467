// systole train: trains, then evaluates if the file has data for it.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>

#include "apps/systole/train/config_reference.h"
#include "apps/systole/train/train_commands.h"
#include "systole/base/log.h"
#include "systole/train/loop/progress_hook.h"
#include "systole/train/loop/signals.h"

namespace systole::app {
namespace {

struct TrainCommand {
  ConfigOptions config;
  bool keys = false;
};

void print_stop(const char* what_next, const TPUEstimator& estimator) {
  fmt::print("stopped by {}; {}\ncheckpoint: {}\n", StopSignals::received(), what_next,
             estimator.latest_checkpoint());
}

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
    config.train.hooks.push_back(std::make_shared<ProgressHook>(ProgressHook::Options{
        .last_step = config.train.max_steps.value_or(0), .steps = config.train.steps}));
  }
  config.evaluate.hooks.push_back(progress_of_evaluation(config.evaluate));
  estimator.train(input, config.train);
  if (StopSignals::received() != nullptr)
    return print_stop("run the same command to continue", estimator);
  if (estimator.latest_checkpoint().empty()) {
    log_warning("train: run_config saves no checkpoints, so there is nothing to evaluate");
    return;
  }
  if (config.eval_input && !print_evaluation_of(estimator, config)) {
    return print_stop("training is complete; run systole evaluate for its metrics", estimator);
  }
  fmt::print(
      "checkpoint: {0}\ncurves: systole inspect {1} --plot curves.svg, or tensorboard --logdir "
      "{1}\n",
      estimator.latest_checkpoint(), estimator.model_dir());
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
