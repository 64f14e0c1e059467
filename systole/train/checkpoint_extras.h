// What a checkpoint has beside the variables, and its file. Format: checkpoint_extras.cc.
#pragma once

#include <map>
#include <string>

#include "systole/base/file_system.h"

namespace systole {

// State beside the variables that a program needs to continue exactly (random state, the position
// in the input, the state of hooks), as bytes by name. Stored in `<prefix>.systole`, which
// TensorFlow ignores.
using CheckpointExtras = std::map<std::string, std::string>;

// Returns the extras of a checkpoint; none if it has no such file. Errors: DATA_LOSS.
CheckpointExtras read_checkpoint_extras(FileSystem& file_system, const std::string& prefix);
void write_checkpoint_extras(FileSystem& file_system, const std::string& prefix,
                             const CheckpointExtras& extras);

// Returns the path of the extras beside a bundle of so many shards: "<prefix>.systole", or
// "<prefix>.systole2" for two shards, which a checkpoint has that replaced another one of its name
// (BundleWriter). So each index has its own extras.
std::string checkpoint_extras_path(const std::string& prefix, int num_shards);

void write_extras_file(FileSystem& file_system, const std::string& path,
                       const CheckpointExtras& extras);

}  // namespace systole
