// Recurrent layers whose products are convolutions. (tf.keras.layers)
//
//   st::keras::layers::ConvLSTM2D(40, {3, 3}, {.padding = "same", .return_sequences = true})
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "systole/keras/base/fields.h"
#include "systole/keras/layers/core.h"

namespace systole::keras::layers {

struct ConvLSTM2DOptions {
  int64_t filters = 0;     // required
  Sizes kernel_size = {};  // required
  // The strides of the inputs. The convolution of the states is "same", without strides.
  Sizes strides = 1;
  std::string padding = "valid";  // or "same"
  std::optional<std::string> data_format = std::nullopt;
  Sizes dilation_rate = 1;
  keras::Activation activation = "tanh";
  keras::Activation recurrent_activation = "hard_sigmoid";
  bool use_bias = true;
  InitializerSpec kernel_initializer = "glorot_uniform";
  InitializerSpec recurrent_initializer = "orthogonal";
  InitializerSpec bias_initializer = "zeros";
  bool unit_forget_bias = true;
  RegularizerSpec kernel_regularizer = nullptr;
  RegularizerSpec recurrent_regularizer = nullptr;
  RegularizerSpec bias_regularizer = nullptr;
  RegularizerSpec activity_regularizer = nullptr;
  ConstraintSpec kernel_constraint = nullptr;
  ConstraintSpec recurrent_constraint = nullptr;
  ConstraintSpec bias_constraint = nullptr;
  bool return_sequences = false;
  bool go_backwards = false;
  double dropout = 0;            // of the inputs; masks are drawn once for all steps
  double recurrent_dropout = 0;  // of the states
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::vector<Tensor> weights = {};  // the first ones, in the order of the layer
  std::string name = {};
  bool trainable = true;
};
// An LSTM of images: [batch, time, rows, columns, in] -> [batch, rows', columns', filters], or,
// with return_sequences, [batch, time, rows', columns', filters]; in channels_first the channels
// stand before the rows. Gates in the order i, f, c, o. Weights: kernel [kernel sizes, in, 4
// filters], recurrent_kernel [kernel sizes, filters, 4 filters], bias [4 filters]. With
// go_backwards outputs are in the order of processing, the last step first. Errors: those of
// Conv2D; INVALID_ARGUMENT for a size of the image that is not known. A mask is refused. Source:
// Shi et al., arXiv 1506.04214.
class ConvLSTM2D : public Layer {
 public:
  explicit ConvLSTM2D(int64_t filters, Sizes kernel_size, ConvLSTM2DOptions options = {},
                      Where where = Where::current());
};

}  // namespace systole::keras::layers
