// Hyperparameters of runs.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "apps/board/run.h"
#include "systole/base/file_system.h"

namespace systole::board {

// Hyperparameters that are kept of one file, and of the events of a run; others are left out.
inline constexpr size_t kMaxHparams = 1000;

// Adds the hyperparameters of the bytes of an HParamsPluginData message (TensorBoard's plugin
// `hparams`). Errors: INVALID_ARGUMENT for bytes that are not such a message.
void add_hparams(std::string_view plugin_data, std::map<std::string, Hparam>& hparams);

// Returns whether a file of this name holds hyperparameters: it ends in .yaml, .yml or .json and
// begins with config, hparams, params or args.
bool is_hparam_file(std::string_view name);

// Adds the hyperparameters of a YAML or JSON file. Nested keys are joined by dots:
// "model.layers.0.units". Errors: those of the file system; INVALID_ARGUMENT for other contents;
// RESOURCE_EXHAUSTED over 256 kB.
void add_hparam_file(FileSystem& file_system, const std::string& path,
                     std::map<std::string, Hparam>& hparams);

}  // namespace systole::board
