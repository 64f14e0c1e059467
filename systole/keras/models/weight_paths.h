// Names of a model's weights by the layers that have them.
#pragma once

#include <string>
#include <unordered_map>

#include "systole/keras/layer.h"

namespace systole::keras {

// "dense/kernel", "inner_model/dense/kernel". A shared layer has the first of its paths.
std::unordered_map<const Weight*, std::string> weight_paths(const LayerDefinition& model);

}  // namespace systole::keras
