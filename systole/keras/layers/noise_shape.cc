#include "systole/keras/layers/noise_shape.h"

#include "systole/graph/api/array_ops.h"

namespace systole::keras {

Output noise_sizes(const Output& x, const std::vector<int64_t>& noise_shape) {
  std::vector<Output> sizes;
  for (size_t i = 0; i < noise_shape.size(); ++i) {
    sizes.push_back(noise_shape[i] < 0 ? gather(shape(x), static_cast<int32_t>(i))
                                       : constant(static_cast<int32_t>(noise_shape[i])));
  }
  return stack(sizes);
}

}  // namespace systole::keras
