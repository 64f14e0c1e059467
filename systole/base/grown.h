// Tensors that are filled row by row, by something that does not know how many there will be.
#pragma once

#include <algorithm>
#include <cstring>

#include "systole/base/tensor.h"

namespace systole {

// The rows, whose texts are moved, with room behind them for as many as make `count`. REQUIRES:
// count is not less than there are.
inline Tensor grown(Tensor& rows, int64_t count) {
  Shape shape = rows.shape();
  shape.set_dim(0, count);
  Tensor larger(rows.dtype(), std::move(shape));
  if (rows.dtype() == DType::string) {
    std::ranges::move(rows.data<std::string>(), larger.data<std::string>().begin());
  } else if (rows.num_elements() > 0) {
    std::memcpy(larger.raw(), rows.raw(), static_cast<size_t>(rows.byte_size()));
  }
  return larger;
}

}  // namespace systole
