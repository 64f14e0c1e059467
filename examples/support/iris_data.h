// The iris data set for the examples: 150 flowers, 4 measurements, 3 species. Source: R. A. Fisher,
// 1936.
#pragma once

#include <string>
#include <vector>

#include "systole/base/tensor.h"

namespace examples {

struct IrisData {
  systole::Tensor train_x, test_x;   // f32[n,5]: a 1 for the bias, then the measurements in cm
  systole::Tensor train_y, test_y;   // f32[n,3]: one-hot species
  std::vector<std::string> species;  // names of the classes
};

// The path of examples/data/iris.csv in the source tree.
std::string default_iris_path();

// Reads a CSV with a header and rows of four measurements and a species name. Splits the rows at
// random; a third is for testing. Errors: those of CsvReader.
IrisData load_iris(const std::string& path, uint64_t random_state);

}  // namespace examples
