// Archives of Keras 3, also of TensorFlow from 2.12 on: <name>.keras.
//   metadata.json      {"keras_version": "3.0.0"}, and, of archives written here, "systole":
//   {"keras_version",
//                      "training_config"}: what compile() was given in our words, and the version
//                      whose meanings config.json has
//   config.json        the model, with compile_config: keras3_config.h
//   model.weights.h5   keras3_weights.h
// The archive is a zip.
#pragma once

#include <string>

#include "systole/base/file_system.h"
#include "systole/keras/models/model.h"

namespace systole::keras {

// Whether `path` is a zip archive. Errors: those of the file.
bool is_keras_archive(FileSystem& files, const std::string& path);

// The archive's bytes. Errors: those of save_model().
std::string keras_archive_of(const Model& model, const std::string& path, bool include_optimizer);

// Errors: INVALID_ARGUMENT for an archive without a model; those of load_model().
Model load_keras_archive(FileSystem& files, const std::string& path, bool compile);

// Sets the weights from the archive's. Errors: as read_keras3_weights().
LoadReport load_archive_weights(FileSystem& files, const std::string& path, const Model& model);

}  // namespace systole::keras
