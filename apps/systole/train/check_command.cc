// systole check: prints what a TPU would refuse, and the memory and time of a step on a core.
#include <fmt/core.h>

#include "apps/systole/base/output.h"
#include "apps/systole/train/program_check.h"
#include "apps/systole/train/step_prediction.h"
#include "apps/systole/train/train_commands.h"

namespace systole::app {
namespace {

struct CheckCommandOptions : ConfigOptions {
  StepPredictionOptions prediction;
  CompilerOptions compiler;
  std::string published;  // a table; "": none
  bool json = false;
};

void check_options(const CheckCommandOptions& options) {
  const CompilerOptions& compiler = options.compiler;
  if (!compiler.wanted()) {
    const CompilerOptions defaults;
    if (!compiler.save.empty()) throw UsageError("--save needs --compile");
    if (!compiler.library.empty()) throw UsageError("--tpu-library needs --compile");
    if (compiler.effort != defaults.effort) throw UsageError("--effort needs --compile");
    if (compiler.max_seconds != defaults.max_seconds)
      throw UsageError("--time-limit needs --compile");
  } else if (!options.prediction.system.empty() || !options.prediction.csv.empty() ||
             !options.published.empty()) {
    throw UsageError(
        "--compile, got it with --predict, --csv or --published, expected it without: it estimates "
        "for its own TPU");
  }
}

void run_check(const CheckCommandOptions& options) {
  check_options(options);
  StepPredictionOptions prediction = options.prediction;
  prediction.json = options.json;
  if (options.json && (!options.published.empty() || !prediction.csv.empty())) {
    throw UsageError("--json, got it with --csv or --published, expected it with a model");
  }
  if (!options.published.empty()) return print_published_steps(options.published);
  if (!prediction.csv.empty()) {
    if (prediction.system.empty()) throw UsageError("--csv needs --predict");
    return print_table_prediction(prediction);
  }
  if (options.path.empty()) throw UsageError("config is required");
  if (is_program(options.path))
    return check_program(options.path, options.prediction.system, options.compiler, options.json);
  const TrainingConfig config = options.read();
  const InputFn& input = needed_input(config.train_input, options.path, "train");
  if (options.compiler.wanted())
    return check_step(options.path, config, input, options.compiler, options.json);
  if (!prediction.system.empty()) return print_prediction(config, input, prediction);
  TPUEstimator estimator(config.estimator);
  const CheckReport report = estimator.check(input);
  if (options.json) {
    print_json(report.to_json());
  } else {
    fmt::print("{}", report.to_string());
  }
  if (!report.ok()) {
    throw failed_precondition("{}: model, got findings that a TPU would refuse, expected none",
                              options.path);
  }
}

}  // namespace

void add_check_command(CommandLine& line) {
  auto options = std::make_shared<CheckCommandOptions>();
  add_config_options(line, *options);
  StepPredictionOptions& prediction = options->prediction;
  line.option("--predict", prediction.system,
              "Predicts the time of a step on this TPU, v2-8 ... v2-512, v3-8 ... v3-2048, v4-8, "
              "v5e-4, v5p-8, v6e-8, tpu7x-8..., on one of each generation: all, or on this "
              "machine: cpu")
      .value_name("TPU|all|cpu");
  line.option("--csv", prediction.csv,
              "Predicts fully connected networks of a table instead of a model; its columns are "
              "hidden_layers, nodes, input, output, global_batch and steps_per_second")
      .value_name("FILE");
  line.option("--published", options->published,
              "Predicts the steps of a table of times that others measured on Cloud TPUs, from the "
              "programs in the archive beside it; its columns are name, program, system, "
              "measured_ms, part, input_bytes and source")
      .value_name("FILE");
  line.option("--logdir", prediction.logdir, "Writes the prediction as a page for `systole board`")
      .value_name("FOLDER");
  line.option("--steps", prediction.steps, "Steps of the training to predict; 0: as the file says")
      .not_negative();
  line.option("--price", prediction.price, "Price of an hour of the TPU, for that of the training")
      .not_negative();
  add_compiler_options(line, options->compiler);
  line.flag("--json", options->json, kJsonMeaning);
  line.on_run([options] { run_check(*options); });
}

}  // namespace systole::app
