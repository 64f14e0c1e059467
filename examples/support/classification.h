// Judging a classifier: shares and tables that a person can read.
#pragma once

#include <span>
#include <string>

#include "systole/base/tensor.h"

namespace examples {

// The hot column of a row of `one_hot` (f32[n,classes]).
int64_t label_of(const systole::Tensor& one_hot, int64_t row);

// The share of rows whose label is `predictions` (s64[n]).
double accuracy(const systole::Tensor& one_hot, const systole::Tensor& predictions);

// Rows are true classes, columns predicted ones; counts.
std::string confusion_matrix(const systole::Tensor& one_hot, const systole::Tensor& predictions,
                             std::span<const std::string> names);
// The same of counts that are there: f32[classes,classes].
std::string confusion_table(const systole::Tensor& counts, std::span<const std::string> names);

// Lines "measurements -> predicted, truth", `every`-th row of the data.
std::string sample_predictions(const systole::Tensor& x, const systole::Tensor& one_hot,
                               const systole::Tensor& predictions,
                               std::span<const std::string> names, int64_t every);

}  // namespace examples
