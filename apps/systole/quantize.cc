// systole quantize: makes an 8-bit program of a trained model.
#include "systole/quantize/quantize.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "apps/systole/command.h"
#include "apps/systole/hlo/programs.h"
#include "apps/systole/inspect/kind.h"
#include "apps/systole/inspect/predict_input.h"
#include "systole/base/log.h"
#include "systole/hlo/text/text.h"
#include "systole/io/file_systems/file_systems.h"
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
  int64_t batch = 32;
  int64_t batches = 16;
};

std::optional<FixedPointRounding> rounding_from_name(const std::string& name) {
  if (name == "tflite") return FixedPointRounding::tflite;
  if (name == "single") return FixedPointRounding::single;
  if (name == "stablehlo") return std::nullopt;
  throw invalid_argument("--rounding, got '{}', expected tflite, single or stablehlo", name);
}

// The rows [first, first + count) of every input.
NamedTensors rows_of(const NamedTensors& data, int64_t first, int64_t count) {
  NamedTensors rows;
  for (const auto& [name, tensor] : data) rows[name] = tensor.slice(first, first + count);
  return rows;
}

int64_t examples_of(const NamedTensors& data) {
  std::optional<int64_t> examples;
  for (const auto& [name, tensor] : data) {
    const int64_t rows = tensor.rank() > 0 ? tensor.dim(0) : 0;
    if (rows != examples.value_or(rows)) {
      throw invalid_argument("--data: examples of '{}', got {}, expected {}, as of the others",
                             name, rows, *examples);
    }
    examples = rows;
  }
  return examples.value_or(0);
}

struct LoadedModel {
  std::unique_ptr<hlo::Module> module;
  NamedTensors data;  // by name, in the order of main's parameters
  int64_t batch = 0;
};

// A StableHLO program has the batch of its first parameter. Its inputs are arg0, arg1...
LoadedModel load_program(const QuantizeOptions& options) {
  LoadedModel loaded{.module = read_program(options.model), .data = {}};
  const hlo::Computation& main = loaded.module->entry();
  if (main.num_parameters() == 0 || main.num_parameters() > 10) {
    throw invalid_argument("{}: parameters of main, got {}, expected 1 to 10", options.model,
                           main.num_parameters());
  }
  SignatureInfo signature;
  for (int i = 0; i < main.num_parameters(); ++i) {
    const TensorType& type = main.parameter(i).type();
    if (type.shape.rank() == 0) {
      throw invalid_argument("{}: parameter {}, got {}, expected a batch of examples",
                             options.model, i, type);
    }
    Shape shape = type.shape;
    shape.set_dim(0, kUnknown);
    signature.inputs[fmt::format("arg{}", i)] = {
        .name = "",
        .dtype_name = std::string(dtype_info(type.dtype).tf_name),
        .dtype = type.dtype,
        .shape = shape};
  }
  loaded.data = read_predict_inputs(default_file_system(), signature, options.data);
  loaded.batch = main.parameter(0).shape()[0];
  return loaded;
}

LoadedModel load_saved_model(const QuantizeOptions& options, const std::string& path) {
  SavedModel model(path);
  LoadedModel loaded;
  loaded.data =
      read_predict_inputs(default_file_system(), model.signature(options.signature), options.data);
  loaded.batch = std::min(options.batch, std::max<int64_t>(examples_of(loaded.data), 1));
  if (examples_of(loaded.data) > 0) {
    loaded.module = model.program(rows_of(loaded.data, 0, loaded.batch), options.signature);
  }
  return loaded;
}

LoadedModel load(const QuantizeOptions& options) {
  const bool program = options.model.ends_with(".mlir") || options.model.ends_with(".mlirbc");
  if (program) return load_program(options);
  const FoundFile found = find_file(default_file_system(), options.model);
  if (found.kind == FileKind::saved_model) return load_saved_model(options, found.path);
  throw invalid_argument(
      "{}: model, got a file of kind '{}', expected a SavedModel (systole export writes one from a "
      "checkpoint) or a StableHLO program (.mlir, .mlirbc)",
      options.model, to_string(found.kind));
}

void quantize_model(const QuantizeOptions& options) {
  const quantize::Options wanted{.method = quantize::range_method_from_name(options.method),
                                 .percentile = options.percentile,
                                 .rounding = rounding_from_name(options.rounding)};
  const LoadedModel loaded = load(options);
  const int64_t examples = examples_of(loaded.data);
  if (examples < loaded.batch || examples == 0) {
    throw invalid_argument("--data: examples, got {}, expected at least {}, one batch", examples,
                           std::max<int64_t>(loaded.batch, 1));
  }
  const int64_t count = std::min(examples / loaded.batch, options.batches);
  std::vector<std::vector<Tensor>> batches;
  for (int64_t i = 0; i < count; ++i) {
    std::vector<Tensor> arguments;
    for (const auto& [name, tensor] : rows_of(loaded.data, i * loaded.batch, loaded.batch)) {
      arguments.push_back(tensor);
    }
    batches.push_back(std::move(arguments));
  }
  const quantize::Quantized quantized = quantize::quantize(*loaded.module, batches, wanted);
  const std::string text = hlo::print(*quantized.module);
  write_file_atomically(default_file_system(), options.output, text);
  fmt::print("{}calibrated on {} of {} examples; program of {} examples in {}\n",
             quantized.report.to_string(), count * loaded.batch, examples, loaded.batch,
             options.output);
}

void add_quantize_command(CommandLine& line) {
  auto options = std::make_shared<QuantizeOptions>();
  line.option("model", options->model,
              "A SavedModel, a folder of exports (the newest is used), or a StableHLO program with "
              "its weights as constants (.mlir, .mlirbc)")
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
  line.option("--batch", options->batch, "Examples per run of the program, of a SavedModel")
      .positive();
  line.option("--batches", options->batches, "Batches to calibrate with, at most").positive();
  line.on_run([options] { quantize_model(*options); });
}

}  // namespace

const Command kQuantizeCommand{
    .name = "quantize",
    .summary = "Makes an 8-bit program of a trained model",
    .add = add_quantize_command,
    .examples = {"exports/1700000000 --data images.npy --out model.mlir",
                 "model.mlir --data images.npy --method percentile --out model_int8.mlir"}};

}  // namespace systole::app
