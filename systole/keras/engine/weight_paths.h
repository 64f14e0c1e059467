// Names of a model's weights by the layers that have them.
#pragma once

#include "systole/keras/engine/layer.h"
#include "systole/keras/engine/weight_bindings.h"

namespace systole::keras {

// "dense/kernel", "inner_model/dense/kernel". A shared layer has the first of its paths.
WeightNames weight_paths(const LayerDefinition& model);

}  // namespace systole::keras
