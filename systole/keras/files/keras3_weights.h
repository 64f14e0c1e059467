// The layout of weights in Keras 3's HDF5 files: <name>.weights.h5, and model.weights.h5 in
// archives.
//   vars                               of the model itself, none
//   layers/dense/vars/0, 1, ...        a layer's weights by number, trainable ones first
//   layers/dense_1/vars/...            the second layer of a class, in the model's order
//   layers/lstm/cell/vars/...          a layer within a layer: cell, cell/cells/lstm_cell
//   layers/bidirectional/forward_layer/cell/vars/...
//   layers/functional/layers/...       a model within a model: functional or sequential
//   optimizer/vars/0, 1, ...           of a compiled model: see optimizer_state.h
// Groups `vars` have an attribute `name`, which nothing reads. TensorFlow 2.12 says
// _layer_checkpoint_dependencies in place of layers.
#pragma once

#include <string>
#include <vector>

#include "systole/io/hdf5/hdf5_reader.h"
#include "systole/io/hdf5/hdf5_writer.h"
#include "systole/keras/models/file_options.h"
#include "systole/keras/models/model.h"

namespace systole::keras {

// Returns whether a file has this layout.
bool has_keras3_weights(const Hdf5Reader& file);

void write_keras3_weights(Hdf5Writer& file, const Model& model);

// Sets all weights, or, after an error, none. `config`: of the model in the same archive, whose
// order of layers then counts; null for the model's own order. Errors: INVALID_ARGUMENT for weights
// of another model.
LoadReport read_keras3_weights(const Hdf5Reader& file, const Model& model, const Json& config);

// optimizer/vars in their order; empty where there are none.
std::vector<Tensor> read_keras3_optimizer(const Hdf5Reader& file);
void write_keras3_optimizer(Hdf5Writer& file, const std::vector<Tensor>& values);

}  // namespace systole::keras
