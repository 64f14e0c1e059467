// Padding with mirror images of the tensor.
#pragma once

#include <utility>
#include <vector>

#include "systole/graph/api/array_ops.h"

namespace systole {

// pad() for the modes REFLECT and SYMMETRIC. Errors: INVALID_ARGUMENT when an image would be longer
// than the axis.
Output mirror_pad(const Input& tensor, const std::vector<std::pair<int64_t, int64_t>>& paddings,
                  const PadOptions& options);

}  // namespace systole
