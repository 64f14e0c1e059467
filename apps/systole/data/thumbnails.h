// The images in records, to look at.
#pragma once

#include <optional>

#include "systole/base/tensor.h"
#include "systole/io/records/example.h"

namespace systole::app {

// The image of an Example: its first feature of JPEG or PNG bytes, or pixels (image_raw, or the one
// bytes feature that fits) with height, width and depth as features, or as many as a square has; of
// floats too. u8 [height, width, 1 or 3]. Nothing when there is none.
std::optional<Tensor> image_of(const ExampleView& example);

}  // namespace systole::app
