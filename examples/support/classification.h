// Evaluates a classifier: accuracies and tables as text.
#pragma once

#include <span>
#include <string>

#include "systole/base/tensor.h"

namespace examples {

// The column of the 1 in a row of `one_hot` (f32[n,classes]).
int64_t label_of(const systole::Tensor& one_hot, int64_t row);

// The fraction of rows whose label equals `predictions` (s64[n]).
double accuracy(const systole::Tensor& one_hot, const systole::Tensor& predictions);

// Counts; rows are true classes, columns are predicted classes.
std::string confusion_matrix(const systole::Tensor& one_hot, const systole::Tensor& predictions,
                             std::span<const std::string> names);
// The same from given counts: f32[classes,classes].
std::string confusion_table(const systole::Tensor& counts, std::span<const std::string> names);

// Lines "measurements -> predicted, truth" for every `every`-th row of the data.
std::string sample_predictions(const systole::Tensor& x, const systole::Tensor& one_hot,
                               const systole::Tensor& predictions,
                               std::span<const std::string> names, int64_t every);

}  // namespace examples
