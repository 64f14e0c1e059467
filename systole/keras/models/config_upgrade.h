// Configurations of layers and optimizers that other versions of Keras wrote, in the form of
// tf.keras 1.12.
#pragma once

#include <string>
#include <string_view>

#include "systole/keras/base/json.h"

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

// Whether a version, such as "2.1.6-tf", is `major`.`minor`.`patch` or a later one. A text that is
// no version is an earlier one.
bool is_version(std::string_view version, int major, int minor = 0, int patch = 0);

// `optimizer`: {"class_name": ..., "config": {...}} or, in Keras's archives, a name.
// `keras_version` is that of the file.
//   - learning_rate is lr here, also that of an InverseTimeDecay, which is lr and decay.
//   - The classes of TensorFlow from 2.11 on and of Keras 3 become ours with the arguments that
//   have
//     the same meaning; those of TensorFlow 2.0 to 2.10 are lazy.
//   - Arguments that say that nothing special is asked for are dropped; others are kept, so that
//   they
//     are an error.
// Errors: UNIMPLEMENTED for another schedule of the learning rate.
Json upgrade_optimizer_config(Json optimizer, std::string_view keras_version = "");

// The other way: the configuration of one of our optimizers as files have it, which TensorFlow 2
// and Keras 3 read. Classes of programs come back as they are.
Json optimizer_config_for_files(Json optimizer);
// For Keras's archives: what Keras 3 has of it.
Json optimizer_config_for_keras3(Json optimizer);

// The name of a loss or metric: of a string, or of TensorFlow 2's object, "MeanSquaredError" ->
// "mean_squared_error". Errors: INVALID_ARGUMENT for other JSON.
std::string function_name_from_config(const Json& json);

}  // namespace systole::keras
