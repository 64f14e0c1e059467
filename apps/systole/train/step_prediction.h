// systole check --predict: the step time of a model, or of a table of networks, on a TPU.
#pragma once

#include <string>

#include "apps/systole/train/training_config.h"

namespace systole::app {

struct StepPredictionOptions {
  std::string system;  // "v2-8"; "": no prediction
  std::string csv;     // a table of fully connected networks; "": the model of a file
  int64_t steps = 0;   // of a training, for its time and price; 0: those of the file
  double price = 0;    // of an hour of the TPU; 0: unknown
};

// Prints the predicted step of one core for the model's global batch, and of a training.
// `step_of`: what a core does for a batch of so many examples on all cores. Errors:
// INVALID_ARGUMENT for a batch size that the cores cannot share, and for a model without static
// shapes.
void print_prediction(const TrainingConfig& config, const InputFn& input,
                      const StepPredictionOptions& options);
// Prints a line for each network of the table, and how well measured ones were predicted.
void print_table_prediction(const StepPredictionOptions& options);

}  // namespace systole::app
