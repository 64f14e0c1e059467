// Keras. (tf.keras of TensorFlow 1.12)
//
//   #include "systole/keras/keras.h"
//   auto model = st::keras::Sequential();
//   model.add(st::keras::layers::Embedding(15000, 32, {.input_length = 250}));
//   model.add(st::keras::layers::LSTM(100));
//   model.add(st::keras::layers::Dense(1, {.activation = "sigmoid"}));
//   model.compile({.optimizer = "adam", .loss = "binary_crossentropy", .metrics = {"accuracy"}});
//   model.fit(x_train, y_train, {.batch_size = 64, .epochs = 20});
#pragma once

#include "systole/keras/base/counters.h"
#include "systole/keras/datasets/boston_housing.h"
#include "systole/keras/datasets/cifar.h"
#include "systole/keras/datasets/imdb.h"
#include "systole/keras/datasets/mnist.h"
#include "systole/keras/datasets/reuters.h"
#include "systole/keras/files/saving.h"
#include "systole/keras/fit/callbacks.h"
#include "systole/keras/fit/interruption.h"
#include "systole/keras/layers/advanced_activations.h"
#include "systole/keras/layers/attention.h"
#include "systole/keras/layers/convolution.h"
#include "systole/keras/layers/convolutional_recurrent.h"
#include "systole/keras/layers/core.h"
#include "systole/keras/layers/lambda.h"
#include "systole/keras/layers/merge.h"
#include "systole/keras/layers/noise.h"
#include "systole/keras/layers/normalization.h"
#include "systole/keras/layers/padding.h"
#include "systole/keras/layers/pooling.h"
#include "systole/keras/layers/recurrent.h"
#include "systole/keras/layers/spatial_dropout.h"
#include "systole/keras/layers/wrappers.h"
#include "systole/keras/models/model.h"
#include "systole/keras/models/plot_model.h"
#include "systole/keras/models/serialization.h"
#include "systole/keras/optimizers/optimizer.h"
#include "systole/keras/preprocessing/image.h"
#include "systole/keras/preprocessing/sequence.h"
#include "systole/keras/preprocessing/text.h"
#include "systole/keras/preprocessing/utils.h"
#include "systole/keras/quantized/quantized_model.h"
#include "systole/keras/tpu/keras_support.h"
#include "systole/keras/training/sequence.h"

namespace systole::keras {

namespace models {
using keras::clone_model;
using keras::load_model;
using keras::Model;
using keras::model_from_json;
using keras::save_model;
using keras::Sequential;
}  // namespace models

namespace backend {
using keras::clear_session;

// The value of a weight, such as model.optimizer()->lr(). (tf.keras.backend.get_value)
inline Tensor get_value(const WeightPtr& weight) { return weight->value().clone(); }
// Errors: INVALID_ARGUMENT for another shape. A number takes the weight's dtype.
inline void set_value(const WeightPtr& weight, const Tensor& value) {
  weight->set_value(value.cast(weight->type().dtype).clone());
}
}  // namespace backend

}  // namespace systole::keras
