// What the data sets of files have in common: records of one file after another.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "systole/data/nodes.h"
#include "systole/data/recycle.h"
#include "systole/data/sources.h"
#include "systole/io/file_systems/file_systems.h"

namespace systole::data {

// One open file. Not thread-safe.
class RecordFile {
 public:
  virtual ~RecordFile() = default;
  // False at the end. Writes all components of `row`.
  virtual bool next(Components& row) = 0;
  // The same of a file of texts, as a view that is valid until the next call.
  virtual bool next_text(std::string_view& text) {
    if (!next(text_row_)) return false;
    text = text_of(text_row_);
    return true;
  }
  // Where the next record begins, and going there: whatever number the format likes best.
  virtual uint64_t offset() const = 0;
  virtual void seek(uint64_t offset) = 0;
  // Whether what comes after a record that failed can be read.
  virtual bool can_skip() const { return false; }

 private:
  Components text_row_;
};
using OpenRecordFile = std::function<std::unique_ptr<RecordFile>(const std::string& path)>;

NodePtr record_files_node(std::string name, NodePtr files, Spec spec, OpenRecordFile open);

// The spec of string scalars.
inline Spec text_spec() { return TensorType{DType::string, {}}; }

// Errors: INVALID_ARGUMENT.
size_t checked_buffer_size(std::string_view op, int64_t bytes);

}  // namespace systole::data
