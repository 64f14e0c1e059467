// systole export: a checkpoint as a SavedModel.
#include <fmt/core.h>

#include "apps/systole/train/train_commands.h"

namespace systole::app {
namespace {

struct ExportCommand {
  ConfigOptions config;
  std::string output;
  std::string checkpoint;
};

void run_export(const ExportCommand& command) {
  const TrainingConfig config = command.config.read();
  TPUEstimator estimator(config.estimator);
  const std::string base =
      command.output.empty() ? estimator.model_dir() + "/export" : command.output;
  fmt::print("{}\n", export_model(config, estimator, base, command.checkpoint));
}

}  // namespace

std::string export_model(const TrainingConfig& config, TPUEstimator& estimator,
                         const std::string& base, const std::string& checkpoint) {
  const Nest<TensorType> batches = config.features.map([](const TensorType& type) {
    Dims dims = {kUnknown};
    dims.insert(dims.end(), type.shape.begin(), type.shape.end());
    return TensorType{type.dtype, Shape(std::move(dims))};
  });
  return estimator.export_saved_model(base, estimator::build_raw_serving_input_receiver_fn(batches),
                                      {.checkpoint_path = checkpoint});
}

void add_export_command(CommandLine& line) {
  auto command = std::make_shared<ExportCommand>();
  add_config_options(line, command->config).required();
  line.option("--output", command->output,
              "Folder in which to make a folder named by the time; by default MODEL_DIR/export")
      .value_name("FOLDER");
  line.option("--checkpoint_path", command->checkpoint, "By default the latest")
      .value_name("PREFIX");
  line.on_run([command] { run_export(*command); });
}

}  // namespace systole::app
