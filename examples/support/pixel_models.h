// Keras models of small gray pictures, and their accuracy: for examples with 8-bit integers.
#pragma once

#include "systole/keras/keras.h"
#include "systole/systole.h"

namespace examples {

// u8 [n, 28, 28] as f32 [n, 28, 28, 1] from 0 to 1.
st::Tensor pixels_of(const st::Tensor& images);

// Two convolutions of 5x5 with pooling and two dense layers; two dense layers. Compiled with Adam
// for 10 classes by number.
st::keras::Sequential pixel_cnn();
st::keras::Sequential pixel_mlp();

// The percentage of rows of [n, classes] whose largest output is the label's; of [n, 1], of
// outputs on the label's side of 0.5.
double percent_right(const st::Tensor& outputs, const st::Tensor& labels);

}  // namespace examples
