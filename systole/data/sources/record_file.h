// Data sets of files: the records of one file after another.
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
  // Reads the next record into all components of `row`. Returns false at the end.
  virtual bool next(Components& row) = 0;
  // As next(), for records that are one string: returns a view valid until the next call.
  virtual bool next_text(std::string_view& text) {
    if (!next(text_row_)) return false;
    text = text_of(text_row_);
    return true;
  }
  // The position of the next record, in any unit that the format defines.
  virtual uint64_t offset() const = 0;
  virtual void seek(uint64_t offset) = 0;
  // Returns whether the records after a failed one can be read.
  virtual bool can_skip() const { return false; }

 private:
  Components text_row_;
};
using OpenRecordFile = std::function<std::unique_ptr<RecordFile>(const std::string& path)>;

NodePtr record_files_node(std::string name, NodePtr files, Spec spec, OpenRecordFile open);

// Errors: INVALID_ARGUMENT unless positive.
size_t checked_buffer_size(std::string_view op, int64_t bytes);

}  // namespace systole::data
