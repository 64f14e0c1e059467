// Weights that a file holds, by layer, and their way into a model.
#pragma once

#include <string>
#include <vector>

#include "systole/keras/engine/layer.h"
#include "systole/keras/files/weight_conversions.h"
#include "systole/keras/models/file_options.h"

namespace systole::keras {

struct StoredLayer {
  std::string name;
  std::vector<std::string> weight_names = {};
  std::vector<Tensor> values = {};
};

struct StoredWeights {
  std::string file;  // for errors
  ConversionSource source = {};
  std::vector<StoredLayer> layers = {};  // in the file's order, also those without weights
};

// Sets the weights of `layers`, the layers of a model in order, from `stored`. In order: layers
// with weights are paired, names are ignored. By name: layers of the same name. Arrays are
// converted (weight_conversions.h) and cast to the weights' dtypes. Everything is checked first:
// after an error nothing has changed. Errors: INVALID_ARGUMENT with Keras's messages and with both
// shapes.
LoadReport load_stored_weights(const std::vector<Layer>& layers, const StoredWeights& stored,
                               const LoadWeightsOptions& options);

}  // namespace systole::keras
