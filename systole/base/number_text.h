// Numbers for people.
#pragma once

#include <cstdint>
#include <string>

#include "systole/base/tensor.h"

namespace systole {

// An element with as few digits as give it back: "0.96", not "0.95999998". REQUIRES: a tensor of
// numbers or of booleans, which are 0 and 1.
std::string number_text(const Tensor& tensor, int64_t index = 0);

}  // namespace systole
