// Programs on floats below 16 bits, for tests of what computes them.
#pragma once

#include <string>
#include <vector>

#include "systole/base/tensor.h"

namespace systole::hlo::testing {

struct SmallFloatProgram {
  std::string name;
  std::string text;
  std::vector<Tensor> arguments;
};

// The programs on one such type: their arguments are all its codes, in two orders, and a few
// numbers.
std::vector<SmallFloatProgram> small_float_programs(DType dtype);

// All types.
std::vector<DType> small_float_dtypes();

}  // namespace systole::hlo::testing
