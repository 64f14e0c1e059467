// Image files as arrays. (keras_preprocessing.image.load_img)
#pragma once

#include <array>
#include <optional>
#include <string>

#include "systole/base/tensor.h"

namespace systole::keras::preprocessing::image {

struct LoadImgOptions {
  std::string color_mode = "rgb";                                    // "grayscale", "rgba"
  std::optional<std::array<int64_t, 2>> target_size = std::nullopt;  // height, width
  // "nearest", "bilinear", "bicubic", "lanczos", "box", "hamming": all but the first look at every
  // pixel when they make an image smaller, as PIL does.
  std::string interpolation = "nearest";
};
// Reads a JPEG or PNG file: u8 [height, width, channels]. Errors: those of the file;
// INVALID_ARGUMENT for broken files and unknown names; UNIMPLEMENTED for other formats.
Tensor load_img(const std::string& path, const LoadImgOptions& options = {});

// u8 [height, width, channels] as f32.
inline Tensor img_to_array(const Tensor& image) { return image.cast(DType::f32); }

// Errors: INVALID_ARGUMENT for another interpolation and sizes below 1.
Tensor resize_img(const Tensor& image, int64_t height, int64_t width,
                  const std::string& interpolation = "nearest");

// The channels of a color mode. Errors: INVALID_ARGUMENT for another name.
int channels_of(const std::string& color_mode);

}  // namespace systole::keras::preprocessing::image
