// systole check: prints what a TPU would refuse, and the memory and time of a step on a core.
#include <fmt/core.h>

#include <cstdio>
#include <utility>
#include <vector>

#include "apps/systole/base/output.h"
#include "apps/systole/train/program_check.h"
#include "apps/systole/train/step_prediction.h"
#include "apps/systole/train/train_commands.h"
#include "systole/base/color.h"
#include "systole/base/standard_streams.h"

namespace systole::app {
namespace {

struct CheckCommandOptions {
  std::vector<std::string> paths;
  TrainingOverrides overrides;
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
  const bool of_table = !options.published.empty() || !options.prediction.csv.empty();
  if (options.json && of_table)
    throw UsageError("--json, got it with --csv or --published, expected it with a model");
  if (!options.prediction.csv.empty() && options.prediction.system.empty())
    throw UsageError("--csv needs --predict");
  if (!of_table && options.paths.empty()) throw UsageError("files, got none, expected some");
  if (options.paths.size() < 2) return;
  if (!compiler.save.empty()) throw UsageError("--save, got several files, expected one");
  if (!options.prediction.logdir.empty())
    throw UsageError("--logdir, got several files, expected one");
}

// A program's training is not known: neither its steps nor the machine that loads its data.
void check_options_of_program(const StepPredictionOptions& prediction, const std::string& path) {
  const auto refuse = [&](const char* option) {
    throw UsageError(fmt::format("{}, got it with the program {}, expected it with a model in YAML",
                                 option, path));
  };
  if (prediction.steps != 0) refuse("--steps");
  if (prediction.price != 0) refuse("--price");
  if (!prediction.logdir.empty()) refuse("--logdir");
  if (prediction.system == "cpu") refuse("--predict cpu");
}

FileCheck check_file(const CheckCommandOptions& options, const std::string& path) {
  if (is_program(path)) {
    check_options_of_program(options.prediction, path);
    return check_program(path, options.prediction.system, options.compiler);
  }
  const TrainingConfig config = read_training_config(path, options.overrides);
  const InputFn& input = needed_input(config.train_input, path, "train");
  if (options.compiler.wanted()) return check_step(path, config, input, options.compiler);
  if (!options.prediction.system.empty()) return predict_step(config, input, options.prediction);
  TPUEstimator estimator(config.estimator);
  const CheckReport report = estimator.check(input);
  FileCheck check{report.to_string(), report.to_json(), {}};
  if (!report.ok()) {
    check.refusal =
        failed_precondition("{}: model, got findings that a TPU would refuse, expected none", path);
  }
  return check;
}

// check_file() with errors as the refusal. CANCELLED is thrown: no other file is to be checked.
FileCheck check_one_of_many(const CheckCommandOptions& options, const std::string& path) {
  try {
    return check_file(options, path);
  } catch (const Error& error) {
    if (error.code() == Code::cancelled) throw;
    return {"", {{"ok", false}, {"error", error.what()}}, error};
  }
}

// Prints each file's text under its name, or one list of their JSON objects with the name as
// "file". Prints errors and goes on with the next file.
void check_files(const CheckCommandOptions& options) {
  nlohmann::json list = nlohmann::json::array();
  bool good = true;
  for (const std::string& path : options.paths) {
    if (!options.json) fmt::print("{}{}\n", path == options.paths[0] ? "" : "\n", path);
    FileCheck check = check_one_of_many(options, path);
    if (check.json.is_array()) check.json = {{"predictions", std::move(check.json)}};
    check.json["file"] = path;
    list.push_back(std::move(check.json));
    if (!options.json) fmt::print("{}", check.text);
    if (!check.refusal) continue;
    good = false;
    std::fflush(stdout);
    print_error("{} {}\n", styled(Style::red, "systole:", stderr), check.refusal->what());
  }
  if (options.json) print_json(list);
  if (!good) throw ExitStatus{1};
}

void check_only_file(const CheckCommandOptions& options) {
  const FileCheck check = check_file(options, options.paths[0]);
  if (options.json) {
    print_json(check.json);
  } else {
    fmt::print("{}", check.text);
  }
  if (check.refusal) throw Error(*check.refusal);
}

void run_check(const CheckCommandOptions& options) {
  check_options(options);
  const StepPredictionOptions& prediction = options.prediction;
  if (!options.published.empty()) return print_published_steps(options.published);
  if (!prediction.csv.empty()) return print_table_prediction(prediction);
  options.paths.size() == 1 ? check_only_file(options) : check_files(options);
}

}  // namespace

void add_check_command(CommandLine& line) {
  auto options = std::make_shared<CheckCommandOptions>();
  add_config_overrides(line, options->overrides);
  line.option("files", options->paths,
              "YAML: model, data and run; docs/training.md. Or programs: StableHLO, artifacts of "
              "jax.export, SavedModels; docs/tpu_check.md. PROGRAM.py first: what TensorFlow 1 "
              "programs need that is missing here; docs/python.md");
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
