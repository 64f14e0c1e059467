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

void run(const ExportCommand& command) {
  const TrainingConfig config = read_training_config(command.config.path, command.config.overrides);
  TPUEstimator estimator(config.estimator);
  const Nest<TensorType> batches = config.features.map([](const TensorType& type) {
    Dims dims = {kUnknown};
    dims.insert(dims.end(), type.shape.begin(), type.shape.end());
    return TensorType{type.dtype, Shape(std::move(dims))};
  });
  const std::string base =
      command.output.empty() ? estimator.model_dir() + "/export" : command.output;
  fmt::print("{}\n", estimator.export_saved_model(
                         base, estimator::build_raw_serving_input_receiver_fn(batches),
                         {.checkpoint_path = command.checkpoint}));
}

}  // namespace

void add_export_command(CLI::App& app) {
  auto command = std::make_shared<ExportCommand>();
  app.add_option("config", command->config.path, "YAML, as of systole train")->required();
  add_config_options(app, command->config);
  app.add_option("--output", command->output,
                 "Where a folder named by the time is made; MODEL_DIR/export when absent");
  app.add_option("--checkpoint_path", command->checkpoint, "The latest when absent");
  app.callback([command] { run(*command); });
}

}  // namespace systole::app
