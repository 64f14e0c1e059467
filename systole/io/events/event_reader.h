// Reads event files.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "systole/base/file_system.h"
#include "systole/io/events/event.h"
#include "systole/io/records/tfrecord.h"

namespace systole {

// Reads event after event. Not thread-safe.
class EventReader {
 public:
  // `file_system` outlives the reader. Errors: those of opening the file.
  EventReader(FileSystem& file_system, const std::string& path);
  ~EventReader();

  // Nothing at the end; a later call finds what was added since. Errors: DATA_LOSS, with the
  // offset, for a record that is cut or damaged or no event.
  std::optional<Event> next();
  uint64_t offset() const { return records_.offset(); }

 private:
  RecordReader records_;
};

// What the events of a file have to say of one tag and kind.
struct TagSummary {
  SummaryValue::Kind kind = SummaryValue::Kind::none;
  std::string plugin;
  int64_t count = 0;
  int64_t first_step = 0;
  int64_t last_step = 0;
  SummaryValue first;
  SummaryValue last;
};
struct EventFileSummary {
  int64_t num_events = 0;
  double first_wall_time = 0;
  double last_wall_time = 0;
  std::map<std::string, int64_t> kinds;                 // events by kind
  std::map<std::string, std::vector<TagSummary>> tags;  // in the order of appearance
};
EventFileSummary summarize_events(FileSystem& file_system, const std::string& path);

}  // namespace systole
