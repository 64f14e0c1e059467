// Checks shared by the decoders and encoders of image.h.
#pragma once

#include <string_view>

#include "systole/io/images/image.h"

namespace systole {

ImageInfo read_jpeg_info(std::string_view bytes);
ImageInfo read_png_info(std::string_view bytes);

// Errors: RESOURCE_EXHAUSTED beyond the limits.
void check_image_size(std::string_view op, const ImageInfo& info, int64_t bytes_a_pixel,
                      const ImageLimits& limits);

// Returns the channels. Errors: INVALID_ARGUMENT unless `image` is [h, w, c] of u8, or with `wide`
// of u16, with at most `max_channels` channels, and not empty.
int64_t check_image_tensor(std::string_view op, const Tensor& image, bool wide, int max_channels);

}  // namespace systole
