// The iris data set for the examples: 150 flowers, 4 measurements, 3 species. (Fisher 1936)
#pragma once

#include <string>
#include <vector>

#include "systole/base/tensor.h"

namespace examples {

struct IrisData {
  systole::Tensor train_x, test_x;  // f32[n,5]: a 1 for the bias, then the measurements in cm
  systole::Tensor train_y, test_y;  // f32[n,3]: one-hot species
  std::vector<std::string> species;
};

// Reads a CSV of 4 measurements and a species name a row, and splits it at random into 100 rows to train on and 50 to
// test with. Errors: those of io::read_csv; INVALID_ARGUMENT for a table of another form.
IrisData load_iris(const std::string& path, uint64_t random_state);

// The share of rows where `predictions` (s64[n]) is the hot column of `labels` (f32[n,3]).
double accuracy(const systole::Tensor& labels, const systole::Tensor& predictions);

// The hot column of a row.
int label_of(const systole::Tensor& labels, int64_t row);

}  // namespace examples
