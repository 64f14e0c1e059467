// What compile() was given, as files keep it: the attribute training_config.
#pragma once

#include "systole/keras/json.h"
#include "systole/keras/training/trainer.h"

namespace systole::keras {

// {"optimizer_config": {"class_name", "config"}, "loss", "metrics", "weighted_metrics",
// "sample_weight_mode", "loss_weights"}. Errors: UNIMPLEMENTED for a loss or metric without a name.
Json training_config_of(const CompileOptions& options);

// The same in return, also of other versions of Keras. Errors: INVALID_ARGUMENT for other JSON;
// NOT_FOUND for names that are neither built in nor registered.
CompileOptions compile_options_from(const Json& config);

}  // namespace systole::keras
