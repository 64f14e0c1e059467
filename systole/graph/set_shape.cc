#include "systole/graph/set_shape.h"

#include <algorithm>

#include "systole/graph/array_ops.h"
#include "systole/graph/node_builder.h"
#include "systole/graph/where_scope.h"

namespace systole {

Output set_shape(const Input& x, const Shape& shape) {
  const Output value = resolve("set_shape", x);
  if (!value.shape().compatible_with(shape)) {
    throw at_line(invalid_argument("set_shape: shape, got {}, expected one that fits {}", shape,
                                   value.type()),
                  x.where());
  }
  Shape merged = value.shape();
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape[d] != kUnknown) merged.set_dim(d, shape[d]);
  }
  // A reshape can leave one dimension open. Where more are not known, nothing was to be gained.
  if (merged == value.shape() || std::ranges::count(merged, kUnknown) > 1) return value;
  const WhereScope where(x.where());
  return reshape(value, std::vector<int64_t>(merged.begin(), merged.end()));
}

}  // namespace systole
