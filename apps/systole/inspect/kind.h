// What a path is.
#pragma once

#include <string>
#include <string_view>

#include "systole/base/file_system.h"

namespace systole::app {

enum class FileKind {
  checkpoint,        // the prefix of a tensor bundle, with what stands beside it
  saved_model,       // a directory
  graph,             // a GraphDef or MetaGraphDef
  checkpoint_state,  // the file `checkpoint`
  events,            // a file, or a directory with several
  records,           // TFRecord
  hlo,
  npy,
  unknown,
};
std::string_view to_string(FileKind kind);

struct FoundFile {
  FileKind kind;
  std::string path;  // of a checkpoint, its prefix
};

// A directory is a SavedModel, or stands for its latest checkpoint, or for the newest of the
// SavedModels in it that are named by numbers, as exports are, or for its event files; of a
// checkpoint any file or the prefix is taken; others are told by their names and first bytes.
// Errors: NOT_FOUND for a path that is not there or a directory that is none of these.
FoundFile find_file(FileSystem& file_system, const std::string& path);

}  // namespace systole::app
