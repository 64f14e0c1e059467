// First values of variables, which stand in a header each. (tf.initializers,
// tensorflow/python/ops/init_ops.py)
#pragma once

#include "systole/graph/initializers/all.h"  // IWYU pragma: export
