// The file `checkpoint`, which lists the checkpoints of a directory and names the latest.
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
  // Seconds since the Unix epoch, one for each path; may be empty.
  std::vector<double> all_model_checkpoint_timestamps;
  double last_preserved_timestamp = 0;
};

// Reads the file. Joins relative paths to `directory`. Returns nullopt if the file does not exist.
// Errors: those of the file; INVALID_ARGUMENT if it cannot be parsed; DATA_LOSS if it is larger
// than any such file.
std::optional<CheckpointState> read_checkpoint_state(FileSystem& file_system,
                                                     const std::string& directory);

// As read_checkpoint_state. Returns nullopt and logs a warning, once a process, if the file cannot
// be parsed or is too large.
std::optional<CheckpointState> find_checkpoint_state(FileSystem& file_system,
                                                     const std::string& directory);

// Returns whether a prefix that the file names lies directly in `directory`, so that it is this
// directory's to delete. The file may be anybody's: it can name files elsewhere, which are read as
// TensorFlow reads them, and are not deleted.
bool is_in_directory(const std::string& prefix, const std::string& directory);

// Writes the file atomically. Writes paths in `directory` as names, so that the directory can be
// moved.
void write_checkpoint_state(FileSystem& file_system, const std::string& directory,
                            const CheckpointState& state);

// Returns the prefixes of the whole checkpoints of a directory, in the order in which to try them:
// the latest that the file `checkpoint` names, then all others that it names or that lie in the
// directory, newest first (by the number at the end of the name, then by time). A checkpoint is
// whole if its index and all of its data files exist. Logs a warning, once a process, if the file
// is missing, cannot be parsed, or names a latest checkpoint that does not exist while others do.
std::vector<std::string> find_checkpoints(FileSystem& file_system, const std::string& directory);

// Returns the first of find_checkpoints, or "". (tf.train.latest_checkpoint)
std::string latest_checkpoint(FileSystem& file_system, const std::string& directory);

}  // namespace systole
