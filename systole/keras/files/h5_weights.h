// The layout of weights in Keras's HDF5 files.
//   group                      attributes layer_names, backend, keras_version
//   group/L                    of each layer, also those without weights: attribute weight_names
//   group/L/<weight name>      an array: model_weights/dense/dense/kernel:0
// Lists of names are fixed-length, null-padded strings; a list over 64512 bytes is split into equal
// parts layer_names0, layer_names1, ...
#pragma once

#include <span>
#include <string>
#include <vector>

#include "systole/io/hdf5/hdf5_reader.h"
#include "systole/io/hdf5/hdf5_writer.h"
#include "systole/keras/files/stored_weights.h"

namespace systole::keras {

// `group`: "model_weights", or "" for the root. Errors: ALREADY_EXISTS for two layers or weights of
// one name.
void write_h5_weights(Hdf5Writer& file, const std::string& group, const std::vector<Layer>& layers);

// Errors: INVALID_ARGUMENT for a group without `layer_names`; those of the reader.
StoredWeights read_h5_weights(const Hdf5Reader& file, const std::string& group);

// A list of names as an attribute, split where it is large.
void write_h5_names(Hdf5Writer& file, const std::string& object, const std::string& name,
                    std::span<const std::string> texts);
std::vector<std::string> read_h5_names(const Hdf5Reader& file, const std::string& object,
                                       const std::string& name);

}  // namespace systole::keras
