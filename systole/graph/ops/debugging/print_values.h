// How tf.Print writes the values of a tensor.
#pragma once

#include <cstdint>
#include <string>

#include "systole/base/tensor.h"

namespace systole {

// "1 2 3...": the first `summarize` elements; all where it is negative.
std::string print_values(const Tensor& value, int64_t summarize);

}  // namespace systole
