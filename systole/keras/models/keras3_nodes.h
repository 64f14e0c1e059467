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

#include "systole/keras/base/json.h"
#include "systole/keras/engine/layer.h"

namespace systole::keras {

// Returns whether the inbound_nodes of a functional model's configuration have Keras 3's form.
bool has_keras3_nodes(const Json& config);
// Returns the configuration with its calls in Keras 2's form. Drops masks that are passed as
// arguments, and the ops that compute them, because layers here pass masks on by themselves.
// Errors: INVALID_ARGUMENT for other JSON.
Json with_keras2_nodes(const Json& config);

// A tensor of a call; `node`: the number of the call that made it, from 0.
Json keras3_tensor(const KerasTensor& tensor, int node);

}  // namespace systole::keras
