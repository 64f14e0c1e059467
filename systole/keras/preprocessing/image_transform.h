// Transforms of images: f32 [height, width, channels]. (keras_preprocessing.image)
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "systole/base/tensor.h"

// NOLINTBEGIN(readability-identifier-naming): Keras's names
namespace systole::keras::preprocessing::image {

// Where pixels outside an image come from.
enum class FillMode : uint8_t {
  constant,  // cval
  nearest,   // aaaa|abcd|dddd
  reflect,   // dcba|abcd|dcba
  wrap,      // abcd|abcd|abcd
};
// Errors: INVALID_ARGUMENT for another name.
FillMode fill_mode_from_name(const std::string& name);

struct AffineOptions {
  double theta = 0;  // rotation, in degrees
  double tx = 0;     // shift along the rows, in pixels
  double ty = 0;     // shift along the columns
  double shear = 0;  // in degrees
  double zx = 1;     // zoom of the rows: below 1 enlarges
  double zy = 1;
  FillMode fill_mode = FillMode::nearest;
  double cval = 0;
  int order = 1;  // of interpolation: 0 nearest, 1 bilinear
};
// Pixel (r, c) of the result is pixel M (r, c) of x, M = rotation * shift * shear * zoom around the
// centre of the image. (Keras turns around a point one pixel further down and right, so that a turn
// by 180 degrees shifts.) Errors: INVALID_ARGUMENT for another rank or dtype; UNIMPLEMENTED for an
// order above 1.
Tensor apply_affine_transform(const Tensor& x, const AffineOptions& options);

// Adds `intensity` to all pixels and keeps them in the range that x has.
Tensor apply_channel_shift(const Tensor& x, double intensity);

// Multiplies by `brightness` and keeps pixels at 255 or below, or at 1 if none of x was above 1.
// (Keras first stretches the contrast to the full range of 8 bits.)
Tensor apply_brightness_shift(const Tensor& x, double brightness);

// Mirrors an axis: 0 flips upside down, 1 left and right.
Tensor flip_axis(const Tensor& x, int axis);

// What ImageDataGenerator draws for an image.
struct ImageTransform {
  double theta = 0;
  double tx = 0;
  double ty = 0;
  double shear = 0;
  double zx = 1;
  double zy = 1;
  bool flip_horizontal = false;
  bool flip_vertical = false;
  std::optional<double> channel_shift_intensity = std::nullopt;
  std::optional<double> brightness = std::nullopt;
};

}  // namespace systole::keras::preprocessing::image
// NOLINTEND(readability-identifier-naming)
