// A model, its data and its training from one YAML file; docs/training.md explains the keys.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/systole/config/config_section.h"
#include "systole/estimator/estimator.h"

namespace systole::app {

struct TrainingConfig {
  TPUEstimatorOptions estimator;
  TrainOptions train;
  EvaluateOptions evaluate;
  // Null if the file has no such data.
  InputFn train_input;
  InputFn eval_input;
  InputFn predict_input;  // of data.predict, else of data.eval without the labels
  // The type of one example without labels, which is the input of a served model.
  ElementSpec features;
  // The file with the overrides of --set, as YAML.
  std::string text;
};

// Options of the command line that override the file.
struct TrainingOverrides {
  std::vector<std::string> set;  // "train.max_steps=100"
  std::optional<std::string> model_dir;
  std::optional<int64_t> steps;  // in place of train.steps and train.max_steps
};

// Paths and values of overrides.set. Errors: INVALID_ARGUMENT for one without them.
std::vector<std::pair<std::string, std::string>> assignments_of(const TrainingOverrides& overrides);

// Errors: INVALID_ARGUMENT `<file>:<line>: <what>, got <value>, expected <value>`; those of the
// data's files.
TrainingConfig parse_training_config(ConfigNode root, const TrainingOverrides& overrides = {});
TrainingConfig read_training_config(const std::string& path,
                                    const TrainingOverrides& overrides = {});

// -- The parts of the file, for its documentation.

struct ConfigPart {
  const char* name;  // "estimator"; empty: the file itself
  std::span<const ConfigKey> keys;
};
// All but run_config and model.
std::span<const ConfigPart> training_config_parts();
std::span<const ConfigKey> run_config_keys();
std::span<const ConfigKey> tpu_config_keys();
RunConfig parse_run_config(const ConfigNode& node);

// The model_fn of the sections model, loss, optimizer and metrics; `root` is kept.
ModelFn parse_model(const ConfigNode& root);
std::span<const ConfigKey> model_keys();

}  // namespace systole::app
