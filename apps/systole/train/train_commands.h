// The commands for configuration files, one file each.
#pragma once

#include <CLI/CLI.hpp>

#include "apps/systole/train/training_config.h"

namespace systole::app {

void add_train_command(CLI::App& app);
void add_evaluate_command(CLI::App& app);
void add_export_command(CLI::App& app);
void add_check_command(CLI::App& app);

// What all of them take.
struct ConfigOptions {
  std::string path;
  TrainingOverrides overrides;
};
// The options --set and --model_dir; the file itself unless the command has it in another form.
void add_config_options(CLI::App& app, ConfigOptions& options);

// A line for each metric, and how many examples they are of.
void print_evaluation(const Evaluation& evaluation);

// The input_fn for a command. Errors: INVALID_ARGUMENT when the file has no such data.
const InputFn& needed_input(const InputFn& input, const std::string& path, const char* key);

}  // namespace systole::app
