// What a program knows better of a tensor's shape than inference does.
#pragma once

#include "systole/graph/core/graph.h"

namespace systole {

// `x` with the dimensions of `shape`; unknown ones (-1) stay what they were. In place of
// x.set_shape([784]) write x = set_shape(x, {784}): a value of another shape when the program runs
// is INVALID_ARGUMENT (as by tf.ensure_shape). Errors: INVALID_ARGUMENT when `shape` contradicts
// what is known of x. (tf.Tensor.set_shape)
Output set_shape(const Input& x, const Shape& shape);

}  // namespace systole
