// Saving and loading of models. (tf.keras.models.save_model, load_model; Model.save_weights,
// load_weights)
//
//   model.save("imdb.h5");
//   auto again = st::keras::models::load_model("imdb.h5");
//   model.save_weights("weights.h5");
//   st::keras::LoadReport report = model.load_weights("weights.h5", {.by_name = true});
//
// Paths may have any scheme that st::default_file_system() knows, mem:// too. A file is written
// under a temporary name and renamed: after an error the file that was there is intact.
#pragma once

#include <string>

#include "systole/keras/models/file_options.h"
#include "systole/keras/models/model.h"

namespace systole::keras {

struct LoadModelOptions {
  bool compile = true;  // false: the model is not compiled, even if it was when it was saved
};

// Writes architecture, weights and, of a compiled model, losses, metrics, optimizer and its state,
// in the HDF5 form of Keras, or, to `<name>.keras`, as an archive of Keras 3. A symbolic link is
// followed. Warns of metrics that load_model() finds
// only after register_metric(). Errors: UNIMPLEMENTED for a model of the user's class or for a
// layer or loss that has no name in files; FAILED_PRECONDITION for a model whose weights do not
// exist yet, and for a path of a device or a directory; ALREADY_EXISTS without `overwrite`; those
// of the file.
void save_model(const Model& model, const std::string& path, const SaveOptions& options = {});

// Reads what save_model() or Keras (1.0 to 3) wrote in HDF5 form or as an archive. Where
// the optimizer's state does not fit, a warning says so and the optimizer starts anew. Classes and
// functions of the program are found by the names under which they are registered
// (register_layer_class, register_loss, ...). Errors: NOT_FOUND `Unknown layer: <name>`;
// INVALID_ARGUMENT for a file without a model; DATA_LOSS for a damaged file.
Model load_model(const std::string& path, const LoadModelOptions& options = {});

// Model::save_weights and Model::load_weights.
void save_weights(const Model& model, const std::string& path,
                  const SaveWeightsOptions& options = {});
LoadReport load_weights(const Model& model, const std::string& path,
                        const LoadWeightsOptions& options = {});

// A model of the same configuration with layers and initial weights of its own. Errors: those of
// Model::to_json().
Model clone_model(const Model& model);

}  // namespace systole::keras
