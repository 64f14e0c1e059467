// The weights of layers as files name them.
#pragma once

#include <string>
#include <vector>

#include "systole/keras/engine/layer.h"

namespace systole::keras {

struct NamedWeight {
  std::string name;
  WeightPtr weight;
};

// A layer's weights in Keras's order, trainable ones first, without the states of stateful layers.
// Names in HDF5 files: "dense/kernel:0", "bidirectional/forward_lstm/kernel:0"; of a model those of
// its layers. A name that comes again gets "_1".
std::vector<NamedWeight> h5_weights_of(const LayerDefinition& layer);

// The same weights by their paths in TensorFlow's object-based checkpoints: "kernel",
// "cell/kernel", "forward_layer/cell/kernel", "cell/cells/0/kernel"; of a model
// "layer_with_weights-0/kernel".
std::vector<NamedWeight> object_weights_of(const LayerDefinition& layer);

}  // namespace systole::keras
