// Penalties on weights, which stand in a header each. (tf.contrib.layers)
#pragma once

#include "systole/train/regularizers/all.h"  // IWYU pragma: export
