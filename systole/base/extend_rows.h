// Tensors that grow along the first dimension.
#pragma once

#include <algorithm>
#include <cstring>

#include "systole/base/tensor.h"

namespace systole {

// Returns a tensor of `count` rows that begins with `rows`, whose strings it moves. REQUIRES: count
// is not less than the rows of `rows`.
inline Tensor extend_rows(Tensor& rows, int64_t count) {
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
