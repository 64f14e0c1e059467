// systole predict: runs a SavedModel or a StableHLO program on an input, or a model of a
// configuration file on its data.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/systole/hlo/programs.h"
#include "apps/systole/inspect/describe.h"
#include "apps/systole/inspect/inspect_commands.h"
#include "apps/systole/inspect/predict_input.h"
#include "apps/systole/train/train_commands.h"
#include "systole/base/log.h"
#include "systole/base/progress.h"
#include "systole/hlo/passes/expand_quantized.h"
#include "systole/io/checkpoints/slice_copy.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/tables/npy.h"
#include "systole/runtime/batched_program.h"
#include "systole/train/loop/progress_hook.h"

namespace systole::app {
namespace {

struct PredictOptions {
  ConfigOptions config;  // its path is the model, of either kind
  std::vector<std::string> inputs;
  std::string signature;
  std::string device = "cpu";
  std::string output;
  std::optional<int64_t> count;  // all when absent
  bool allow_files = false;
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

// TPU v1 computes with 8-bit integers alone.
void refuse_float_model(const PredictOptions& options, std::string_view kind) {
  if (options.device != "tpu_v1") return;
  throw invalid_argument(
      "{}: model for tpu_v1, got {} of floating-point numbers, expected an 8-bit program: "
      "'systole quantize {} --data EXAMPLES.npy --out model.mlir' makes one, and 'systole predict "
      "model.mlir --device tpu_v1' runs it",
      options.config.path, kind, options.config.path);
}

// What is for models of the other kind is not passed over in silence.
void check_saved_model_options(const PredictOptions& options) {
  const auto refuse = [&](const char* option, const char* wanted) {
    throw UsageError(
        fmt::format("{}, got one with '{}', expected {}", option, options.config.path, wanted));
  };
  const TrainingOverrides& overrides = options.config.overrides;
  if (!overrides.set.empty()) refuse("--set", "it with a configuration file (.yaml)");
  if (overrides.model_dir) refuse("--model_dir", "it with a configuration file (.yaml)");
  if (options.inputs.empty()) {
    throw UsageError(
        fmt::format("--input, got none, expected the files for '{}'", options.config.path));
  }
}

// Concatenates the rows of all batches.
Tensor joined(const std::vector<NamedTensors>& batches, const std::string& name) {
  const Tensor& first = batches[0].at(name);
  if (batches.size() == 1) return first;
  Shape shape = first.shape();
  shape.set_dim(0, 0);
  for (const NamedTensors& batch : batches) shape.set_dim(0, shape[0] + batch.at(name).dim(0));
  Tensor whole(first.dtype(), shape);
  int64_t row = 0;
  for (const NamedTensors& batch : batches) {
    const Tensor& rows = batch.at(name);
    TensorSlice slice;
    for (const int64_t size : rows.shape()) slice.extents.push_back({0, size});
    slice.extents[0].start = row;
    copy_into_slice(rows, slice, whole);
    row += rows.dim(0);
  }
  return whole;
}

// How many examples there are, where all inputs and outputs keep examples apart.
std::optional<int64_t> separate_examples(const SignatureInfo& signature,
                                         const NamedTensors& inputs) {
  const auto by_example = [](const auto& named) {
    const std::optional<Shape>& shape = named.second.shape;
    return shape && shape->rank() > 0 && (*shape)[0] == kUnknown;
  };
  if (!std::ranges::all_of(signature.inputs, by_example) ||
      !std::ranges::all_of(signature.outputs, by_example)) {
    return std::nullopt;
  }
  std::optional<int64_t> examples;
  for (const auto& [name, tensor] : inputs) {
    const int64_t rows = tensor.rank() > 0 ? tensor.dim(0) : 0;
    if (rows != examples.value_or(rows)) return std::nullopt;
    examples = rows;
  }
  return examples;
}

// Where lines of results on a terminal do not show it themselves.
bool shows_progress(const PredictOptions& options) {
  return !options.output.empty() || ::isatty(STDOUT_FILENO) == 0;
}

// Calls use(outputs, first example) for one batch after the other.
void predict_batches(SavedModel& model, const PredictOptions& options, const NamedTensors& inputs,
                     const std::function<void(const NamedTensors&, int64_t)>& use) {
  constexpr int64_t kBatch = 1024;
  const auto predict = [&](const NamedTensors& part) {
    return model.predict(part, options.signature);
  };
  const auto examples = separate_examples(model.signature(options.signature), inputs);
  // (The smaller last batch is another program: not for a few of them.)
  if (!examples || *examples <= 4 * kBatch) return use(predict(inputs), 0);
  const int64_t wanted = std::min(*examples, options.count.value_or(INT64_MAX));
  Progress progress(real_clock(), shows_progress(options) ? stderr : nullptr,
                    ::isatty(STDERR_FILENO) != 0, "predict", wanted);
  for (int64_t first = 0; first < wanted; first += kBatch) {
    const int64_t end = std::min(first + kBatch, wanted);
    NamedTensors batch;
    for (const auto& [name, tensor] : inputs) batch[name] = tensor.slice(first, end);
    const NamedTensors outputs = predict(batch);
    const bool separate = std::ranges::all_of(
        outputs, [&](const auto& named) { return named.second.dim(0) == end - first; });
    if (!separate) return use(predict(inputs), 0);
    use(outputs, first);
    progress.add(end - first);
  }
  progress.finish();
}

void write_outputs(const NamedTensors& outputs, const std::string& folder) {
  FileSystem& files = default_file_system();
  files.make_directories(folder);
  for (const auto& [name, tensor] : outputs) {
    const std::string path = join_path(folder, name + ".npy");
    write_npy(files, path, tensor);
    fmt::print("{}: {} in {}\n", name, tensor.type(), path);
  }
}

void predict_program(const PredictOptions& options) {
  check_saved_model_options(options);
  const std::string& path = options.config.path;
  if (!options.signature.empty()) {
    throw UsageError(
        fmt::format("--signature, got one with '{}', expected it with a SavedModel", path));
  }
  const auto module = read_program(path);
  if (!hlo::has_quantized_types(*module)) refuse_float_model(options, "a program");
  const NamedTensors data = read_predict_inputs(
      default_file_system(), signature_of_program(*module, path), options.inputs);
  std::vector<Tensor> inputs;
  for (const auto& [name, tensor] : data) {
    const int64_t most = options.count.value_or(INT64_MAX);
    inputs.push_back(tensor.rank() > 0 ? tensor.slice(0, std::min(most, tensor.dim(0))) : tensor);
  }
  const runtime::BatchedProgram program(backend(options.device), *module);
  const std::vector<Tensor> results = program.run(inputs);
  NamedTensors outputs;
  const std::vector<std::string> names = result_names(*module);
  for (size_t i = 0; i < results.size(); ++i) outputs[names.at(i)] = results[i];
  if (options.output.empty()) return print_lines(outputs, INT64_MAX);
  write_outputs(outputs, options.output);
}

void predict_saved_model(const PredictOptions& options) {
  FileSystem& files = default_file_system();
  const FoundFile found = find_file(files, options.config.path);
  if (found.kind == FileKind::hlo) return predict_program(options);
  if (found.kind != FileKind::saved_model) {
    throw invalid_argument(
        "{}: model, got a file of kind '{}', expected a SavedModel (systole export writes one), "
        "a StableHLO program (.mlir, .mlirbc) or a configuration file (.yaml)",
        options.config.path, to_string(found.kind));
  }
  check_saved_model_options(options);
  refuse_float_model(options, "a SavedModel");
  if (found.path != options.config.path) log_info("predict: {}", found.path);
  SavedModel model(found.path, {.target = options.device == "cpu" ? "" : options.device,
                                .allow_files = options.allow_files});
  const SignatureInfo& signature = model.signature(options.signature);
  const NamedTensors inputs = read_predict_inputs(files, signature, options.inputs);
  std::vector<NamedTensors> batches;
  predict_batches(model, options, inputs, [&](const NamedTensors& outputs, int64_t first) {
    if (options.output.empty()) {
      print_lines(outputs, options.count.value_or(INT64_MAX) - first);
    } else {
      batches.push_back(outputs);
    }
  });
  if (options.output.empty()) return;
  NamedTensors whole;
  for (const auto& [name, first] : batches.at(0)) whole[name] = joined(batches, name);
  write_outputs(whole, options.output);
}

// A line of JSON for each example of the file's data.
void predict_config(const PredictOptions& options) {
  const std::string& path = options.config.path;
  if (!options.inputs.empty() || !options.signature.empty() || !options.output.empty()) {
    throw UsageError(
        fmt::format("--input, --signature or --output, got one with '{}', expected none: a "
                    "configuration file names its data",
                    path));
  }
  refuse_float_model(options, "a model");
  if (options.device != "cpu") {
    throw UsageError(
        fmt::format("--device, got '{}' with '{}', expected none: estimator.master of "
                    "the file names the device",
                    options.device, path));
  }
  const TrainingConfig config = options.config.read();
  TPUEstimator estimator(config.estimator);
  int64_t left = options.count.value_or(INT64_MAX);
  if (left == 0) return;
  systole::PredictOptions predict;
  if (shows_progress(options)) {
    predict.hooks.push_back(std::make_shared<ProgressHook>(ProgressHook::Options{
        .name = "predict, batch", .counts_batches = true, .out = progress_file()}));
  }
  for (const auto& prediction :
       estimator.predict(needed_input(config.predict_input, path, "predict or eval"), predict)) {
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
              "A SavedModel, a folder of exports (the newest is used), a StableHLO program (.mlir, "
              ".mlirbc), or a configuration file of systole train (.yaml)")
      .required();
  line.option("--input", options->inputs,
              "FILE or NAME=FILE: .npy, .csv or TFRecords of tf.Examples; not for a configuration "
              "file. The inputs of a program are arg0, arg1...")
      .value_name("[NAME=]FILE")
      .one_each();
  const CommandLineOption count =
      line.option("--count", options->count, "Examples to print; by default all").not_negative();
  line.option("--signature", options->signature,
              "Signature of a SavedModel; by default serving_default, or the only one")
      .value_name("NAME");
  line.option("--device", options->device,
              "Of a program: cpu|reference|tpu_v1|pjrt:PLUGIN; of a SavedModel: cpu, or the target "
              "of a session. tpu_v1 runs what systole quantize writes")
      .value_name("DEVICE")
      .show_default();
  line.option("--output", options->output,
              "Folder for the outputs, as NAME.npy; by default prints a line of "
              "JSON for each example")
      .value_name("FOLDER")
      .excludes(count);
  line.flag("--allow-files", options->allow_files,
            "Let the graph of a SavedModel read and write all files and buckets that you can; "
            "otherwise it opens only its assets");
  add_config_overrides(line, options->config.overrides);
  line.on_run([options] { predict(*options); });
}

}  // namespace systole::app
