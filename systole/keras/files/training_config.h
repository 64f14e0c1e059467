// What compile() was given, as files keep it: the attribute training_config.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "systole/keras/base/json.h"
#include "systole/keras/training/trainer.h"

namespace systole::keras {

// {"optimizer_config": {"class_name", "config"}, "loss", "metrics", "weighted_metrics",
// "sample_weight_mode", "loss_weights"}, and, where they say more than Keras's files can,
// "weight_rule" and "lazy_rows". `outputs`: the names of the model's outputs; with metrics of
// single outputs, each has a list of its own. Errors: UNIMPLEMENTED for a loss without a name.
Json training_config_of(const CompileOptions& options, const std::vector<std::string>& outputs);

// The same in return, also of other versions of Keras. `keras_version`: the file's; from TensorFlow
// 2.2 on hinge losses take targets of 0 and 1 for -1 and 1. Errors: INVALID_ARGUMENT for other
// JSON; NOT_FOUND for names that are neither built in nor registered.
CompileOptions compile_options_from(const Json& config, std::string_view keras_version = "",
                                    const std::vector<std::string>& outputs = {});

// compile_config of Keras's archives. (.keras)
Json keras3_compile_config_of(const CompileOptions& options,
                              const std::vector<std::string>& outputs);
// As training_config_of() writes it; null for a model that was not compiled.
Json training_config_from_keras3(const Json& compile_config);

}  // namespace systole::keras
