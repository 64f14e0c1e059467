// What compile() was given, as files keep it: the attribute training_config.
#pragma once

#include <string>
#include <vector>

#include "systole/keras/json.h"
#include "systole/keras/training/trainer.h"

namespace systole::keras {

// {"optimizer_config": {"class_name", "config"}, "loss", "metrics", "weighted_metrics",
// "sample_weight_mode", "loss_weights"}, and "weight_rule" where it is not Keras's. `outputs`: the
// names of the model's outputs; with metrics of single outputs, each has a list of its own. Errors:
// UNIMPLEMENTED for a loss without a name.
Json training_config_of(const CompileOptions& options, const std::vector<std::string>& outputs);

// The same in return, also of other versions of Keras. Errors: INVALID_ARGUMENT for other JSON;
// NOT_FOUND for names that are neither built in nor registered.
CompileOptions compile_options_from(const Json& config);

}  // namespace systole::keras
