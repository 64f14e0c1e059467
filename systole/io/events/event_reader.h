// Reads event files.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "systole/base/file_system.h"
#include "systole/io/events/event.h"
#include "systole/io/records/tfrecord.h"

namespace systole {

// Returns the event in the bytes of a record. Errors start with `what`: DATA_LOSS for bytes that
// are not an event.
Event parse_event(std::string_view what, std::string_view record);

// Reads one event after another. Not thread-safe.
class EventReader {
 public:
  // `file_system` must outlive the reader. Errors: those of opening the file.
  EventReader(FileSystem& file_system, const std::string& path);
  ~EventReader();

  // Returns the next event; nullopt at the end, where a later call finds events added since.
  // Errors: DATA_LOSS, with the offset, for a record that is truncated, damaged or not an event.
  std::optional<Event> next();
  uint64_t offset() const { return records_.offset(); }

 private:
  RecordReader records_;
};

// A summary of the events of one tag and kind.
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
