// Configurations of layers and optimizers that other versions of Keras wrote, in the form of
// tf.keras 1.12.
#pragma once

#include "systole/keras/json.h"

namespace systole::keras {

// `layer`: {"class_name": ..., "config": {...}} of Keras 1.x, 2.x or TensorFlow 2.
//   - Keras 1: names of classes and arguments (Convolution2D, nb_filter, W_regularizer, ...), merge
//     modes, and arguments that are gone.
//   - TensorFlow 2: batch_shape, dtype policies, activations and regularizers as objects.
//   - arguments that the class here does not have are dropped where their value says that nothing
//     special is asked for (null, false, groups = 1, ...), and kept, so that they are an error,
//     where not.
// Layers inside (of wrappers, cells of RNNs) are converted, too. Layers of classes that are not
// this library's come back as they are: their arguments may have any name.
Json upgrade_layer_config(Json layer);

// `optimizer`: {"class_name": ..., "config": {...}}: learning_rate is lr here, and a name is
// dropped.
Json upgrade_optimizer_config(Json optimizer);

// The name of a loss or metric: of a string, or of TensorFlow 2's object, "MeanSquaredError" ->
// "mean_squared_error". Errors: INVALID_ARGUMENT for other JSON.
std::string function_name_from_config(const Json& json);

}  // namespace systole::keras
