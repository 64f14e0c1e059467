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

#include "systole/keras/layers/core.h"
#include "systole/keras/layers/recurrent.h"
#include "systole/keras/models/model.h"
#include "systole/keras/optimizers/optimizer.h"
#include "systole/keras/seed.h"
#include "systole/keras/training/callbacks.h"

namespace systole::keras {

namespace models {
using keras::Model;
using keras::Sequential;
}  // namespace models

namespace backend {
using keras::clear_session;
}  // namespace backend

}  // namespace systole::keras
