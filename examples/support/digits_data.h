// Handwritten digits for the examples: MNIST if its files are found, else the small set of
// examples/data.
#pragma once

#include <string>

#include "systole/base/tensor.h"

namespace examples {

struct Digits {
  systole::Tensor images;  // u8[n,28,28], 0 is paper
  systole::Tensor labels;  // s32[n]
  int64_t size() const { return labels.dim(0); }
};

struct DigitsData {
  Digits train;
  Digits test;
  std::string source;  // for messages
};

// Reads the IDX files of <data_dir>/mnist. If data_dir is empty: those of default_data_dir() if
// they exist, else shipped_digits(). Errors: those of reading the files.
DigitsData load_digits(const std::string& data_dir);

// Reads examples/data/digits.csv, enlarged from 8 x 8. The last fifth is for testing.
DigitsData shipped_digits();

}  // namespace examples
