// The commands for configuration files, one file each.
#pragma once

#include <cstdio>

#include "apps/systole/train/training_config.h"
#include "systole/base/command_line.h"

namespace systole::app {

void add_train_command(CommandLine& line);
void add_evaluate_command(CommandLine& line);
void add_export_command(CommandLine& line);
void add_check_command(CommandLine& line);
void add_profile_command(CommandLine& line);

// Writes the model of a configuration file as a SavedModel below `base` and returns its folder.
// `checkpoint`: empty for the latest. Errors: those of TPUEstimator::export_saved_model().
std::string export_model(const TrainingConfig& config, TPUEstimator& estimator,
                         const std::string& base, const std::string& checkpoint);

// Options of all commands.
struct ConfigOptions {
  std::string path;
  TrainingOverrides overrides;
  TrainingConfig read() const { return read_training_config(path, overrides); }
};
// The file, and the options --set and --model_dir.
CommandLineOption add_config_options(CommandLine& line, ConfigOptions& options);
// The options alone.
void add_config_overrides(CommandLine& line, TrainingOverrides& overrides);

// Whether this is the process that reports: the only one, or the first that a launcher started.
bool is_reporter();
// Prints a line for each metric, and the number of examples; nothing if is_reporter() is false.
void print_evaluation(const Evaluation& evaluation);
// Standard error, or a file that takes nothing with --quiet or if another process reports. All
// processes have the same hooks, because these are part of the program.
std::FILE* progress_file();
// Returns a hook that prints the progress of an evaluation to progress_file().
std::shared_ptr<SessionRunHook> progress_of_evaluation(const EvaluateOptions& options);

// The input_fn for a command. Errors: INVALID_ARGUMENT when the file has no such data.
const InputFn& needed_input(const InputFn& input, const std::string& path, const char* key);

}  // namespace systole::app
