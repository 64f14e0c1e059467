// Weights in TensorFlow's format: a checkpoint (tensor bundle) whose keys are paths of objects.
//   layer_with_weights-0/kernel/.ATTRIBUTES/VARIABLE_VALUE       an array
//   _CHECKPOINTABLE_OBJECT_GRAPH                                 the objects, a message:
//     CheckpointableObjectGraph := 1 node*
//     node      := 1 child*, 2 attribute*        child := 1 node id, 2 name
//     attribute := 1 "VARIABLE_VALUE", 2 name of the variable, 3 key
// In names of the path, "/" is written ".S" and "." is written "..".
#pragma once

#include <string>
#include <vector>

#include "systole/base/file_system.h"
#include "systole/keras/engine/network.h"
#include "systole/keras/models/file_options.h"

namespace systole::keras {

// Writes prefix.index, prefix.data-00000-of-00001 and the file `checkpoint` beside them.
void write_tf_weights(FileSystem& file_system, const std::string& prefix,
                      const ModelDefinition& model);

// Sets the weights of a model by their paths in the graph of objects, by their keys where the file
// has no graph. Everything is checked first: after an error nothing has changed. Objects of the
// file that the model does not have are `skipped`. Errors: INVALID_ARGUMENT for weights that the
// file does not have, and for other shapes.
LoadReport read_tf_weights(FileSystem& file_system, const std::string& prefix,
                           const ModelDefinition& model);

}  // namespace systole::keras
