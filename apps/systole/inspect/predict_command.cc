// systole predict: what a SavedModel says of an input, or a model of a configuration file of its
// data.
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/systole/inspect/describe.h"
#include "apps/systole/inspect/inspect_commands.h"
#include "apps/systole/inspect/predict_input.h"
#include "apps/systole/train/train_commands.h"
#include "systole/base/log.h"
#include "systole/io/local_file_system.h"
#include "systole/io/npy.h"

namespace systole::app {
namespace {

struct PredictOptions {
  ConfigOptions config;  // its path is the model, of either kind
  std::vector<std::string> inputs;
  std::string signature;
  std::string output;
  std::optional<int64_t> count;  // all when absent
};

// One line of JSON for each of the first `count` examples; outputs that have no first dimension in
// common are one line.
void print_lines(const NamedTensors& outputs, int64_t count) {
  int64_t rows = -1;
  for (const auto& [name, tensor] : outputs) {
    const int64_t size = tensor.rank() > 0 ? tensor.dim(0) : 0;
    rows = rows < 0 || rows == size ? size : 0;
  }
  const auto line_of = [&](const auto& part) {
    Json line = Json::object();
    for (const auto& [name, tensor] : outputs) line[name] = values_json(part(tensor));
    fmt::print("{}\n", line.dump());
  };
  if (rows <= 0) return line_of([](const Tensor& tensor) { return tensor; });
  for (int64_t row = 0; row < std::min(rows, count); ++row) {
    line_of([&](const Tensor& tensor) {
      Dims dims(tensor.shape().begin() + 1, tensor.shape().end());
      return tensor.slice(row, row + 1).reshape(Shape(std::move(dims)));
    });
  }
}

// What is for models of the other kind is not passed over in silence.
void check_saved_model_options(const PredictOptions& options) {
  const auto refuse = [&](const char* option, const char* wanted) {
    throw UsageError(
        fmt::format("{}, got one with '{}', expected {}", option, options.config.path, wanted));
  };
  const TrainingOverrides& overrides = options.config.overrides;
  if (!overrides.set.empty()) refuse("--set", "it with a configuration file (.yaml)");
  if (!overrides.model_dir.empty()) refuse("--model_dir", "it with a configuration file (.yaml)");
  if (options.count && !options.output.empty()) {
    refuse("--output and --count", "one of them: files have all examples");
  }
  if (options.inputs.empty()) {
    throw UsageError(
        fmt::format("--input, got none, expected the files for '{}'", options.config.path));
  }
}

void predict_saved_model(const PredictOptions& options) {
  FileSystem& files = local_file_system();
  const FoundFile found = find_file(files, options.config.path);
  if (found.kind != FileKind::saved_model) {
    throw invalid_argument(
        "{}: model, got a {}, expected a SavedModel (systole export writes one) or a "
        "configuration file (.yaml)",
        options.config.path, to_string(found.kind));
  }
  check_saved_model_options(options);
  if (found.path != options.config.path) log_info("predict: {}", found.path);
  SavedModel model(found.path);
  const SignatureInfo& signature = model.signature(options.signature);
  const NamedTensors outputs =
      model.predict(read_predict_inputs(files, signature, options.inputs), options.signature);
  if (options.output.empty()) return print_lines(outputs, options.count.value_or(INT64_MAX));
  files.make_directories(options.output);
  for (const auto& [name, tensor] : outputs) {
    const std::string path = join_path(options.output, name + ".npy");
    write_npy(files, path, tensor);
    fmt::print("{}: {} in {}\n", name, tensor.type(), path);
  }
}

// A line of JSON for each example of the file's data.
void predict_config(const PredictOptions& options) {
  const std::string& path = options.config.path;
  if (!options.inputs.empty() || !options.signature.empty() || !options.output.empty()) {
    throw UsageError(
        fmt::format("--input, --signature or --output, got one with '{}', expected them with a "
                    "SavedModel: examples are those of the file's data",
                    path));
  }
  const TrainingConfig config = options.config.read();
  TPUEstimator estimator(config.estimator);
  int64_t left = options.count.value_or(INT64_MAX);
  if (left == 0) return;
  for (const auto& prediction :
       estimator.predict(needed_input(config.predict_input, path, "predict or eval"))) {
    Json line = Json::object();
    for (const std::string& name : prediction.names()) {
      line[name] = values_json(prediction[name].leaf());
    }
    fmt::print("{}\n", line.dump());
    if (--left == 0) break;
  }
}

void predict(const PredictOptions& options) {
  const std::string& path = options.config.path;
  const bool config = path.ends_with(".yaml") || path.ends_with(".yml");
  if (config) return predict_config(options);
  predict_saved_model(options);
}

}  // namespace

void add_predict_command(CommandLine& line) {
  auto options = std::make_shared<PredictOptions>();
  line.option("model", options->config.path,
              "The directory of a SavedModel or of exports, whose newest it is, or a configuration "
              "file of systole train (.yaml)")
      .required();
  line.option("--input", options->inputs,
              "FILE or NAME=FILE: .npy, .csv or TFRecords of tf.Examples; for a SavedModel")
      .value_name("[NAME=]FILE")
      .one_each();
  line.option("--count", options->count, "Examples to print; all when absent").not_negative();
  line.option("--signature", options->signature,
              "Of a SavedModel; serving_default, or the only one, when absent")
      .value_name("NAME");
  line.option("--output", options->output,
              "A folder for the outputs of a SavedModel, NAME.npy; else they are printed, a line "
              "of JSON each")
      .value_name("FOLDER");
  add_config_overrides(line, options->config.overrides);
  line.on_run([options] { predict(*options); });
}

}  // namespace systole::app
