// Models as Keras 3 writes them into archives: config.json of .keras files.
#pragma once

#include "systole/keras/base/json.h"
#include "systole/keras/engine/network.h"

namespace systole::keras {

// {"module", "class_name", "config", "registered_name"} of a model and of all that is in it. Warns
// where a layer has a meaning that Keras 3 has no words for. Errors: UNIMPLEMENTED for a layer that
// cannot be saved.
Json keras3_model_config(const NetworkDefinition& model);

// `config`, of a layer or a model: layers inside of layers get the module that Keras 3 finds their
// class by. Versions of Keras 2 do not read it.
Json with_inner_modules(Json config);

}  // namespace systole::keras
