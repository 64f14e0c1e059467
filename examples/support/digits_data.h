// Handwritten digits for the examples: MNIST where its files are, else the small set of
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
  std::string source;  // to tell a person
};

// The IDX files of <data_dir>/mnist. Without a data_dir those of default_data_dir() if they are
// there, else shipped_digits(). Errors: those of reading the files.
DigitsData load_digits(const std::string& data_dir);

// examples/data/digits.csv, enlarged from 8 x 8; the last fifth is to test with.
DigitsData shipped_digits();

}  // namespace examples
