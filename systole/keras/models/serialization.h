// Models as JSON, in Keras's form.
#pragma once

#include <string>
#include <string_view>

#include "systole/keras/models/model.h"

namespace systole::keras {

// The version of Keras whose forms we write: that of TensorFlow 1.12.
inline constexpr std::string_view kKerasVersion = "2.1.6-tf";

// From Model::to_json() or Keras's. Errors: INVALID_ARGUMENT for text that is no model; NOT_FOUND
// `Unknown layer: <name>` for a class that is neither built in nor registered.
Model model_from_json(const std::string& text);
// The text's JSON. Errors: INVALID_ARGUMENT for other text, and for deeper nesting than any model
// has.
Json parse_model_json(const std::string& text);
// From {"class_name": "Sequential" | "Model" | "Functional", "config": ...}, of any version of
// Keras 1 or 2: see config_upgrade.h.
Model model_from_config(const Json& json);

}  // namespace systole::keras
