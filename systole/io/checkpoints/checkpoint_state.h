// The file `checkpoint` beside checkpoints: which there are and which is the latest.
//   model_checkpoint_path: "model.ckpt-1000"           text of a CheckpointState message
//   all_model_checkpoint_paths: "model.ckpt-0"         oldest first
//   all_model_checkpoint_paths: "model.ckpt-1000"
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "systole/base/file_system.h"

namespace systole {

struct CheckpointState {
  std::string model_checkpoint_path;                    // the latest; "" for none
  std::vector<std::string> all_model_checkpoint_paths;  // oldest first
  // Seconds since the Unix epoch, one a path; empty in files of others.
  std::vector<double> all_model_checkpoint_timestamps;
  double last_preserved_timestamp = 0;
};

// Paths come joined to `directory` where the file has relative ones. Nothing when there is no such
// file. Errors: those of the file; INVALID_ARGUMENT when it does not parse.
std::optional<CheckpointState> read_checkpoint_state(FileSystem& file_system,
                                                     const std::string& directory);

// Writes it whole or not at all. Paths in `directory` are written as names, so that the directory
// can be moved.
void write_checkpoint_state(FileSystem& file_system, const std::string& directory,
                            const CheckpointState& state);

// The prefix of the latest checkpoint whose index is there, "" when there is none: the state's
// first, else the newest of its others. (tf.train.latest_checkpoint)
std::string latest_checkpoint(FileSystem& file_system, const std::string& directory);

}  // namespace systole
