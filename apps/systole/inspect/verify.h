// Reads every byte of a checkpoint.
#pragma once

#include <string>
#include <vector>

#include "apps/systole/inspect/kind.h"

namespace systole::app {

struct Verification {
  int64_t tensors = 0;
  int64_t bytes = 0;                  // of tensors and files that were compared with a checksum
  std::vector<std::string> damaged;   // one error each
  std::vector<std::string> unproven;  // what has no checksum, or none that can be computed here
};

// Reads all tensors of a checkpoint, or of the variables of a SavedModel, and what lies beside them
// (extras, graphs), and compares them with their checksums. Errors: INVALID_ARGUMENT for another
// kind of file; those of the index, without which nothing can be found.
Verification verify(FileSystem& file_system, const FoundFile& file);

}  // namespace systole::app
