// systole check: prints what a TPU would refuse, and the memory of a step on a core.
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
    throw failed_precondition("{}: model, got findings that a TPU would refuse, expected none",
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
