// systole quantize: makes an 8-bit program of a trained model.
#include "systole/quantize/quantize.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "apps/systole/base/command.h"
#include "apps/systole/base/output.h"
#include "apps/systole/hlo/programs.h"
#include "apps/systole/inspect/kind.h"
#include "apps/systole/inspect/predict_input.h"
#include "apps/systole/train/train_commands.h"
#include "systole/base/log.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/keras/files/saving.h"
#include "systole/stablehlo/text/text.h"
#include "systole/train/saved_model.h"

namespace systole::app {
namespace {

struct QuantizeOptions {
  std::string model;
  std::vector<std::string> data;
  std::string output;
  std::string method = "min_max";
  double percentile = 99.99;
  std::string rounding = "tflite";
  std::string signature;
  std::string checkpoint;
  TrainingOverrides overrides;
  int64_t batch = 32;
  int64_t batches = 16;
  bool allow_files = false;
  bool json = false;
};

std::optional<FixedPointRounding> rounding_from_name(const std::string& name) {
  if (name == "tflite") return FixedPointRounding::tflite;
  if (name == "single") return FixedPointRounding::single;
  if (name == "stablehlo") return std::nullopt;
  throw invalid_argument("--rounding, got '{}', expected tflite, single or stablehlo", name);
}

struct LoadedModel {
  std::unique_ptr<hlo::Module> module;
  std::vector<Tensor> data;               // the examples, in the order of main's parameters
  std::vector<std::string> outputs = {};  // names of the results; empty: the program has its own
  int64_t batch = 0;
};

std::vector<Tensor> values_of(const NamedTensors& named) {
  std::vector<Tensor> values;
  for (const auto& [name, tensor] : named) values.push_back(tensor);
  return values;
}

// --batch, or all examples if there are fewer.
int64_t batch_of(const QuantizeOptions& options, const std::vector<Tensor>& data) {
  const int64_t rows = data.empty() || data[0].rank() == 0 ? 0 : data[0].dim(0);
  if (rows == 0) throw invalid_argument("--data: examples, got none, expected some");
  return std::min(options.batch, rows);
}

// A StableHLO program has the batch of its first parameter.
LoadedModel load_program(const QuantizeOptions& options) {
  LoadedModel loaded{.module = read_program(options.model), .data = {}};
  loaded.data = values_of(read_predict_inputs(
      default_file_system(), signature_of_program(*loaded.module, options.model), options.data));
  loaded.batch = loaded.module->entry().parameter(0).shape()[0];
  return loaded;
}

LoadedModel load_saved_model(const QuantizeOptions& options, const std::string& path) {
  SavedModel model(path, {.allow_files = options.allow_files});
  LoadedModel loaded;
  const NamedTensors data =
      read_predict_inputs(default_file_system(), model.signature(options.signature), options.data);
  loaded.data = values_of(data);
  loaded.batch = batch_of(options, loaded.data);
  NamedTensors first;
  for (const auto& [name, tensor] : data) first[name] = tensor.slice(0, loaded.batch);
  loaded.module = model.program(first, options.signature);
  for (const auto& [name, info] : model.signature(options.signature).outputs) {
    loaded.outputs.push_back(name);
  }
  return loaded;
}

// The model of a configuration file with its checkpoint.
LoadedModel load_config(const QuantizeOptions& options) {
  const TrainingConfig config = read_training_config(options.model, options.overrides);
  TPUEstimator estimator(config.estimator);
  return load_saved_model(options,
                          export_model(config, estimator, "mem://quantize", options.checkpoint));
}

LoadedModel load_keras(const QuantizeOptions& options) {
  const keras::Model model = keras::load_model(options.model, {.compile = false});
  const std::vector<std::string> names = model.input_names();
  const std::vector<TensorType> types = model.model()->input_types();
  SignatureInfo signature;
  for (size_t i = 0; i < types.size(); ++i) {
    signature.inputs[names.at(i)] = {.name = "",
                                     .dtype_name = std::string(dtype_info(types[i].dtype).tf_name),
                                     .dtype = types[i].dtype,
                                     .shape = types[i].shape};
  }
  const NamedTensors data = read_predict_inputs(default_file_system(), signature, options.data);
  LoadedModel loaded;
  for (const std::string& name : names) loaded.data.push_back(data.at(name));
  loaded.batch = batch_of(options, loaded.data);
  loaded.module = model.inference_module(loaded.batch);
  loaded.outputs = model.output_names();
  return loaded;
}

bool ends_with_any(const std::string& path, std::initializer_list<std::string_view> endings) {
  return std::ranges::any_of(endings, [&](std::string_view e) { return path.ends_with(e); });
}

LoadedModel load(const QuantizeOptions& options) {
  const std::string& path = options.model;
  const bool config = ends_with_any(path, {".yaml", ".yml"});
  if (!config && (!options.checkpoint.empty() || !options.overrides.set.empty() ||
                  options.overrides.model_dir)) {
    throw UsageError(fmt::format(
        "--checkpoint_path, --set or --model_dir, got one with '{}', expected none: they are for a "
        "configuration file",
        path));
  }
  if (config) return load_config(options);
  if (ends_with_any(path, {".mlir", ".mlirbc"})) return load_program(options);
  if (ends_with_any(path, {".h5", ".hdf5", ".keras"})) return load_keras(options);
  const FoundFile found = find_file(default_file_system(), path);
  if (found.kind == FileKind::saved_model) return load_saved_model(options, found.path);
  throw invalid_argument(
      "{}: model, got a file of kind '{}', expected a SavedModel, a Keras model (.h5), a StableHLO "
      "program (.mlir, .mlirbc), or, for a checkpoint, the configuration file of its model (.yaml)",
      path, to_string(found.kind));
}

nlohmann::json json_of(const quantize::Report& report) {
  nlohmann::json layers = nlohmann::json::array();
  // JSON has no NaN: what was not measured is null.
  const auto measured = [](double value) {
    return std::isnan(value) ? nlohmann::json() : nlohmann::json(value);
  };
  for (const quantize::LayerReport& layer : report.layers) {
    layers.push_back({{"name", layer.name},
                      {"kind", layer.kind},
                      {"scale", layer.scale},
                      {"zero_point", layer.zero_point},
                      {"weight_bytes", layer.weight_bytes},
                      {"sqnr_db", measured(layer.sqnr)},
                      {"saturation", measured(layer.saturation)}});
  }
  return {{"layers", layers},
          {"products", report.products},
          {"constant_bytes_before", report.constant_bytes_before},
          {"constant_bytes_after", report.constant_bytes_after}};
}

// Gives the results of a quantized program the names that the model's outputs have.
void name_results(hlo::Module& module, const LoadedModel& loaded) {
  auto& results = module.entry().attributes().results;
  if (loaded.outputs.empty()) results = loaded.module->entry().attributes().results;
  for (size_t i = 0; i < loaded.outputs.size(); ++i) {
    set_result_name(results[static_cast<int>(i)], loaded.outputs[i]);
  }
}

void quantize_model(const QuantizeOptions& options) {
  const quantize::Options wanted{.method = quantize::range_method_from_name(options.method),
                                 .percentile = options.percentile,
                                 .rounding = rounding_from_name(options.rounding)};
  const LoadedModel loaded = load(options);
  const auto batches = quantize::batches_of(loaded.data, loaded.batch, options.batches);
  const quantize::Quantized quantized = quantize::quantize(*loaded.module, batches, wanted);
  name_results(*quantized.module, loaded);
  const std::string text = hlo::print(*quantized.module);
  write_file_atomically(default_file_system(), options.output, text);
  if (options.json) {
    nlohmann::json report = json_of(quantized.report);
    report["program"] = options.output;
    report["batch"] = loaded.batch;
    report["calibration_examples"] = std::ssize(batches) * loaded.batch;
    return print_json(report);
  }
  fmt::print("{}calibrated on {} of {} examples; program of {} examples in {}\n",
             quantized.report.to_string(), std::ssize(batches) * loaded.batch,
             loaded.data[0].dim(0), loaded.batch, options.output);
}

void add_quantize_command(CommandLine& line) {
  auto options = std::make_shared<QuantizeOptions>();
  line.option("model", options->model,
              "A SavedModel, a folder of exports (the newest is used), a Keras model (.h5), a "
              "configuration file with its checkpoint (.yaml), or a StableHLO program with its "
              "weights as constants (.mlir, .mlirbc)")
      .required();
  line.option(
          "--data", options->data,
          "Calibration examples, FILE or NAME=FILE: .npy, .csv or TFRecords of tf.Examples; the "
          "inputs of a StableHLO program are arg0, arg1...")
      .value_name("[NAME=]FILE")
      .one_each()
      .required();
  line.option("--out", options->output, "The quantized program, StableHLO text")
      .value_name("FILE")
      .required();
  line.option("--method", options->method,
              "Range of an activation: min_max, percentile or mse (least error)")
      .value_name("METHOD");
  line.option("--percentile", options->percentile, "Percentile kept at each end, of percentile");
  line.option("--rounding", options->rounding,
              "Rounding of sums: tflite (twice), single (once) or stablehlo (in floating point)")
      .value_name("NAME");
  line.option("--signature", options->signature,
              "Signature of a SavedModel; by default serving_default, or the only one")
      .value_name("NAME");
  line.option("--checkpoint_path", options->checkpoint,
              "Checkpoint of a configuration file's model; by default the latest")
      .value_name("PREFIX");
  add_config_overrides(line, options->overrides);
  line.option("--batch", options->batch,
              "Examples per run of the program; a StableHLO program has its own")
      .positive();
  line.option("--batches", options->batches, "Batches to calibrate with, at most").positive();
  line.flag("--allow-files", options->allow_files,
            "Let the graph of a SavedModel read and write all files and buckets that you can; "
            "otherwise it opens only its assets");
  line.flag("--json", options->json, kJsonMeaning);
  line.on_run([options] { quantize_model(*options); });
}

}  // namespace

const Command kQuantizeCommand{
    .name = "quantize",
    .summary = "Makes an 8-bit program of a trained model",
    .add = add_quantize_command,
    .examples = {"exports/1700000000 --data images.npy --out model.mlir",
                 "imdb.h5 --data reviews.npy --out model.mlir",
                 "examples/configs/iris.yaml --data flowers.csv --out model.mlir",
                 "model.mlir --data images.npy --method percentile --out model_int8.mlir"}};

}  // namespace systole::app
