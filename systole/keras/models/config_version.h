// Arguments that mean something else in later versions of Keras. The version of a file decides:
//   UpSampling2D, interpolation "bilinear"   half-pixel centers, from TensorFlow 2.2 on
//   activity_regularizer                     the sum divided by the batch size, from
//   TensorFlow 1.13 on activation "hard_sigmoid"                relu6(x + 3) / 6, from Keras 3 on
// Configurations within a program have marks that say it: "half_pixel_centers",
// "activity_regularizer_mean", "hard_sigmoid_keras3". Files of Keras know no marks.
#pragma once

#include <string>
#include <string_view>

#include "systole/keras/base/json.h"

namespace systole::keras {

inline constexpr std::string_view kHalfPixelCenters = "half_pixel_centers";
inline constexpr std::string_view kActivityRegularizerMean = "activity_regularizer_mean";

// Adds marks to a model's configuration from a file of this version.
void apply_keras_version(Json& config, std::string_view version);

// Removes the marks. Returns the version that a file needs so that they come back: `version`, or
// that of TensorFlow 2.15. Warns where layers with both meanings are in one model, or where a file
// of `version` gives a layer another meaning.
std::string take_version_marks(Json& config, std::string_view version);

}  // namespace systole::keras
