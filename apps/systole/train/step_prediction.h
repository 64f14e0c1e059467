// systole check --predict: the step time of a model, or of a table of networks, on a TPU.
#pragma once

#include <string>

#include "apps/systole/train/program_check.h"

namespace systole::app {

struct StepPredictionOptions {
  std::string system;  // "v2-8", "cpu"; "all": a slice of each generation; "": no prediction
  std::string logdir;  // where a page for `systole board` is written; "": nowhere
  std::string csv;     // a table of fully connected networks; "": the model of a file
  int64_t steps = 0;   // of a training, for its time and price; 0: those of the file
  double price = 0;    // of an hour of the TPU; 0: unknown
};

// Returns the report of a model of which each core gets as many examples as on `cores` cores of
// `system`. Errors: INVALID_ARGUMENT for a batch size that is no multiple of the number of cores.
CheckReport report_on(const std::string& system, int cores, const TrainingConfig& config,
                      const InputFn& input);
// The predicted time of a step with the train_batch_size of `config`, and of a training; of "all" a
// line for each TPU. The JSON is the page of `systole board`, of "all" a list of such.
// Errors: INVALID_ARGUMENT for a batch size that is no multiple of the number of cores;
// FAILED_PRECONDITION for a model without static shapes.
FileCheck predict_step(const TrainingConfig& config, const InputFn& input,
                       const StepPredictionOptions& options);
// Prints a table of published times on Cloud TPUs with their predictions
// (tpu_check/published_steps.h).
void print_published_steps(const std::string& path);
// Prints a line for each network of the table, and how well measured ones were predicted.
void print_table_prediction(const StepPredictionOptions& options);

}  // namespace systole::app
