// Arrays of other versions of Keras, of Theano and of CuDNN layers in the layout of tf.keras.
#pragma once

#include <string>
#include <vector>

#include "systole/base/tensor.h"

namespace systole::keras {

// The layer that gets the arrays.
struct ConversionTarget {
  std::string class_name = {};     // "LSTM"
  std::string data_format = {};    // "channels_last", "channels_first" or ""
  std::vector<Shape> shapes = {};  // of its weights
};

// Where the arrays are from.
struct ConversionSource {
  bool keras1 = false;
  std::string backend = {};  // "tensorflow", "theano", "cntk"; "" where the file does not say
};

// Returns the arrays as the layer has them. Arrays that need no conversion come back unchanged,
// also where they do not fit: the caller checks the shapes.
//   Keras 1     LSTM of 12 arrays, GRU of 9, kernels of convolutions
//   theano      kernels of convolutions rotated by 180 degrees
//   CuDNNLSTM <-> LSTM, CuDNNGRU <-> GRU(reset_after=True), told by the shape of the bias
// Errors: INVALID_ARGUMENT `GRU(reset_after=False) is not compatible with ...`; for arrays whose
// shapes cannot be converted.
// Source: keras/engine/saving.py of Keras 2.2.4, preprocess_weights_for_loading.
std::vector<Tensor> convert_weights(const ConversionTarget& target, const ConversionSource& source,
                                    std::vector<Tensor> arrays);

// The axes of `array` in the order `axes`, as numpy.transpose.
Tensor transposed(const Tensor& array, const std::vector<int>& axes);

}  // namespace systole::keras
