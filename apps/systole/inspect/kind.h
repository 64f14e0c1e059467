// Recognises the kind of a path.
#pragma once

#include <string>
#include <string_view>

#include "systole/base/file_system.h"

namespace systole::app {

enum class FileKind {
  checkpoint,        // the prefix of a tensor bundle
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

// Recognises a path. A directory is a SavedModel, or else means its latest checkpoint, its newest
// export (a SavedModel named by a number), or its event files. A checkpoint may be given by its
// prefix or any of its files. Other files are recognised by name and first bytes. Errors: NOT_FOUND
// if the path does not exist, or for a directory without any of these.
FoundFile find_file(FileSystem& file_system, const std::string& path);

}  // namespace systole::app
