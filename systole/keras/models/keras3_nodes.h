// The calls of layers in configurations of functional models, as Keras 3 writes them.
//
//   Keras 2:  [["dense", 0, 0, {}], ...]               one list a call: layer, node, tensor, kwargs
//   Keras 3:  {"args": [tensor or list], "kwargs": {...}}, a tensor being
//             {"class_name": "__keras_tensor__", "config": {"shape", "dtype", "keras_history":
//             ["dense", 0, 0]}}
//
// Keras 3 numbers the calls of all layers from 0 in inbound_nodes, those of functional models from
// 1 in output_layers. Keras 2 numbers those of models from 1 in both.
#pragma once

#include "systole/keras/json.h"
#include "systole/keras/layer.h"

namespace systole::keras {

// Whether a functional model's configuration has calls in the form of Keras 3.
bool has_keras3_nodes(const Json& config);
// The configuration with calls in the form of Keras 2. Masks as arguments are dropped, with the ops
// that make them: layers pass their masks on here. Errors: INVALID_ARGUMENT for other JSON.
Json with_keras2_nodes(const Json& config);

// A tensor of a call; `node`: the number of the call that made it, from 0.
Json keras3_tensor(const KerasTensor& tensor, int node);

}  // namespace systole::keras
