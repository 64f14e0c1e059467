// systole predict: what a SavedModel says of an input.
#include <fmt/core.h>

#include "apps/systole/inspect/describe.h"
#include "apps/systole/inspect/inspect_commands.h"
#include "apps/systole/inspect/predict_input.h"
#include "systole/io/local_file_system.h"
#include "systole/io/npy.h"

namespace systole::app {
namespace {

struct PredictOptions {
  std::string model;
  std::vector<std::string> inputs;
  std::string signature;
  std::string output;
};

// One line of JSON an example; outputs that have no first dimension in common are one line.
void print_lines(const NamedTensors& outputs) {
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
  for (int64_t row = 0; row < rows; ++row) {
    line_of([&](const Tensor& tensor) {
      Dims dims(tensor.shape().begin() + 1, tensor.shape().end());
      return tensor.slice(row, row + 1).reshape(Shape(std::move(dims)));
    });
  }
}

void predict(const PredictOptions& options) {
  FileSystem& files = local_file_system();
  SavedModel model(options.model);
  const SignatureInfo& signature = model.signature(options.signature);
  const NamedTensors outputs =
      model.predict(read_predict_inputs(files, signature, options.inputs), options.signature);
  if (options.output.empty()) return print_lines(outputs);
  files.make_directories(options.output);
  for (const auto& [name, tensor] : outputs) {
    const std::string path = join_path(options.output, name + ".npy");
    write_npy(files, path, tensor);
    fmt::print("{}: {} in {}\n", name, tensor.type(), path);
  }
}

}  // namespace

void add_predict_command(CLI::App& app) {
  auto options = std::make_shared<PredictOptions>();
  app.add_option("model", options->model, "The directory of a SavedModel")->required();
  app.add_option("--input", options->inputs,
                 "FILE or NAME=FILE: .npy, .csv or TFRecords of tf.Examples")
      ->required();
  app.add_option("--signature", options->signature,
                 "The signature; serving_default, or the only one, when absent");
  app.add_option("--output", options->output,
                 "A folder for the outputs, NAME.npy; else they are printed, a line of JSON each");
  app.callback([options] { predict(*options); });
}

}  // namespace systole::app
