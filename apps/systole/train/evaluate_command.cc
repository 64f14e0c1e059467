// systole evaluate: prints the metrics of a checkpoint, a line each.
#include <fmt/core.h>

#include "apps/systole/base/output.h"
#include "apps/systole/train/train_commands.h"
#include "systole/base/number_text.h"
#include "systole/runtime/process_group.h"
#include "systole/train/loop/progress_hook.h"

namespace systole::app {
namespace {

// Prints a matrix row by row, other values as Evaluation does.
std::string metric_text(const std::string& name, const Tensor& value) {
  if (value.num_elements() == 1) return fmt::format("{} = {}\n", name, number_text(value));
  if (value.rank() != 2) return fmt::format("{} = {}\n", name, value.to_string());
  std::string text = fmt::format("{}:\n", name);
  for (int64_t row = 0; row < value.dim(0); ++row) {
    for (int64_t column = 0; column < value.dim(1); ++column) {
      text += fmt::format(" {:>6}", number_text(value, row * value.dim(1) + column));
    }
    text += "\n";
  }
  return text;
}

void run_evaluate(const ConfigOptions& options) {
  TrainingConfig config = options.read();
  config.evaluate.hooks.push_back(progress_of_evaluation(config.evaluate));
  TPUEstimator estimator(config.estimator);
  print_evaluation(
      estimator.evaluate(needed_input(config.eval_input, options.path, "eval"), config.evaluate));
}

}  // namespace

std::shared_ptr<SessionRunHook> progress_of_evaluation(const EvaluateOptions& options) {
  return std::make_shared<ProgressHook>(ProgressHook::Options{.name = "evaluate, batch",
                                                              .steps = options.steps,
                                                              .counts_batches = true,
                                                              .out = progress_file()});
}

bool is_reporter() {
  const runtime::ProcessGroup* const processes = runtime::process_group();
  return processes == nullptr || processes->rank() == 0;
}

std::FILE* progress_file() {
  static std::FILE* const nowhere =
      is_reporter() && !is_quiet() ? nullptr : std::fopen("/dev/null", "we");
  return nowhere == nullptr ? stderr : nowhere;
}

void print_evaluation(const Evaluation& evaluation) {
  if (!is_reporter()) return;
  for (const auto& [name, value] : evaluation.values()) {
    fmt::print("{}", metric_text(name, value));
  }
  fmt::print("examples = {}\n", evaluation.examples());
}

void add_evaluate_command(CommandLine& line) {
  auto options = std::make_shared<ConfigOptions>();
  add_config_options(line, *options).required();
  line.on_run([options] { run_evaluate(*options); });
}

}  // namespace systole::app
