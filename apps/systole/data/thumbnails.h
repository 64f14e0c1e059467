// Thumbnails of the images in records.
#pragma once

#include <optional>

#include "systole/base/tensor.h"
#include "systole/io/records/example.h"

namespace systole::app {

// Returns the image of an Example as u8 [height, width, 1 or 3]. It is the first feature with JPEG
// or PNG bytes, or pixels (image_raw, or the only bytes or float feature that fits) of the features
// height, width and depth, or of a square. Returns nothing if there is no image.
std::optional<Tensor> image_of(const ExampleView& example);

}  // namespace systole::app
