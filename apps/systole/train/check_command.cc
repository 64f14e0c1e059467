// systole check: what a TPU would refuse, and what a step takes of a core's memory.
#include <fmt/core.h>

#include "apps/systole/train/train_commands.h"

namespace systole::app {
namespace {

void run_check(const ConfigOptions& options) {
  const TrainingConfig config = options.read();
  TPUEstimator estimator(config.estimator);
  const CheckReport report =
      estimator.check(needed_input(config.train_input, options.path, "train"));
  fmt::print("{}", report.to_string());
  if (!report.ok()) {
    throw failed_precondition("{}: model, got what a TPU would refuse, expected none of it",
                              options.path);
  }
}

}  // namespace

void add_check_command(CommandLine& line) {
  auto options = std::make_shared<ConfigOptions>();
  add_config_options(line, *options).required();
  line.on_run([options] { run_check(*options); });
}

}  // namespace systole::app
