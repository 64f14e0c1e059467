// The file of a checkpoint's extras. Format: checkpoint_extras.cc.
#pragma once

#include <string>

#include "systole/base/file_system.h"
#include "systole/train/saver.h"

namespace systole {

// Returns the path of the extras beside a bundle of so many shards: "<prefix>.systole", or
// "<prefix>.systole2" for two shards, which a checkpoint has that replaced another one of its name
// (BundleWriter). So each index has its own extras.
std::string checkpoint_extras_path(const std::string& prefix, int num_shards);

void write_extras_file(FileSystem& file_system, const std::string& path,
                       const CheckpointExtras& extras);

}  // namespace systole
