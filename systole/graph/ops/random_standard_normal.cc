#include <numbers>

#include "systole/graph/composition.h"
#include "systole/graph/math_ops.h"
