// systole train: trains, and evaluates where the file has data for it.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>

#include "apps/systole/train/config_reference.h"
#include "apps/systole/train/train_commands.h"
#include "systole/base/log.h"
#include "systole/estimator/progress_hook.h"
#include "systole/train/saver.h"

namespace systole::app {
namespace {

struct TrainCommand {
  ConfigOptions config;
  bool keys = false;
};

// The global step that training goes to.
int64_t last_step(const TrainingConfig& config, const std::string& model_dir) {
  if (config.train.max_steps) return *config.train.max_steps;
  const std::string latest = latest_checkpoint(model_dir);
  const size_t dash = latest.rfind('-');
  const int64_t begun =
      dash == std::string::npos ? 0 : std::strtoll(latest.c_str() + dash + 1, nullptr, 10);
  return begun + config.train.steps.value_or(0);
}

void run(const TrainCommand& command) {
  if (command.keys) {
    fmt::print("{}", config_reference());
    return;
  }
  if (command.config.path.empty()) {
    throw invalid_argument("train: configuration file, got none, expected its name");
  }
  TrainingConfig config = read_training_config(command.config.path, command.config.overrides);
  const InputFn& input = needed_input(config.train_input, command.config.path, "train");
  // On a terminal the bar says what the log would; errors and warnings are still shown.
  const bool terminal = ::isatty(STDERR_FILENO) != 0;
  if (terminal && std::getenv("SYSTOLE_LOG") == nullptr) set_log_level(LogLevel::warning);
  TPUEstimator estimator(config.estimator);
  const int64_t last = last_step(config, estimator.model_dir());
  if (last > 0) {
    config.train.hooks.push_back(
        std::make_shared<ProgressHook>(ProgressHook::Options{.last_step = last}));
  }
  estimator.train(input, config.train);
  if (config.eval_input) {
    print_evaluation(estimator.evaluate(config.eval_input, config.evaluate));
  }
  fmt::print("checkpoint: {}\nThe curves: tensorboard --logdir {}\n", estimator.latest_checkpoint(),
             estimator.model_dir());
}

}  // namespace

void add_config_options(CLI::App& app, ConfigOptions& options) {
  app.add_option("--set", options.overrides.set,
                 "PATH=VALUE: puts a value in place of the file's, model.layers.0.dense.units=64")
      ->allow_extra_args(false);
  app.add_option("--model_dir", options.overrides.model_dir,
                 "In place of run_config.model_dir of the file");
}

const InputFn& needed_input(const InputFn& input, const std::string& path, const char* key) {
  if (!input) {
    throw invalid_argument("{}: data, got no {}, expected a pipeline with examples", path, key);
  }
  return input;
}

void add_train_command(CLI::App& app) {
  auto command = std::make_shared<TrainCommand>();
  app.add_option("config", command->config.path, "YAML: model, data and run; docs/training.md");
  add_config_options(app, command->config);
  app.add_option("--steps", command->config.overrides.steps,
                 "So many more, in place of train.steps and train.max_steps");
  app.add_flag("--keys", command->keys, "Prints all that the file may have, as Markdown");
  app.callback([command] { run(*command); });
}

}  // namespace systole::app
