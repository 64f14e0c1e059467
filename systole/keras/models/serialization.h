// Models as JSON, in Keras's form.
#pragma once

#include <string>

#include "systole/keras/models/model.h"

namespace systole::keras {

// From Model::to_json() or Keras's. Errors: INVALID_ARGUMENT for text that is no model; NOT_FOUND
// `Unknown layer: <name>` for a class that is neither built in nor registered.
Model model_from_json(const std::string& text);
// From {"class_name": "Sequential" | "Model", "config": ...}.
Model model_from_config(const Json& json);

}  // namespace systole::keras
