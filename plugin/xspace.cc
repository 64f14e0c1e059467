#include "plugin/xspace.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "systole/io/wire/varint.h"

namespace systole::plugin {
namespace {

using tracing::Event;
using tracing::Kind;

constexpr int64_t kPicoseconds = 1000;  // of a nanosecond
constexpr uint64_t kSized = 2;          // the wire type of texts and messages
// The fields, by message.
constexpr uint64_t kSpacePlanes = 1;
constexpr uint64_t kPlaneName = 2;
constexpr uint64_t kPlaneLines = 3;
constexpr uint64_t kPlaneEventNames = 4;
constexpr uint64_t kPlaneStatNames = 5;
constexpr uint64_t kLineName = 2;
constexpr uint64_t kLineStart = 3;
constexpr uint64_t kLineEvents = 4;
constexpr uint64_t kEventName = 1;
constexpr uint64_t kEventOffset = 2;
constexpr uint64_t kEventDuration = 3;
constexpr uint64_t kEventStats = 4;
constexpr uint64_t kStatName = 1;
constexpr uint64_t kStatUint = 3;
constexpr uint64_t kStatInt = 4;
constexpr uint64_t kStatText = 5;
constexpr uint64_t kNameDisplay = 4;
constexpr uint64_t kNameStats = 5;
constexpr uint64_t kId = 1;    // of a plane, a line, a name
constexpr uint64_t kName = 2;  // of a name
constexpr uint64_t kKey = 1;   // of an entry of a map
constexpr uint64_t kValue = 2;

void add(std::string& message, uint64_t field, int64_t value) {
  append_varint64(message, field << 3U);
  append_varint64(message, static_cast<uint64_t>(value));
}

void add(std::string& message, uint64_t field, std::string_view value) {
  append_varint64(message, field << 3U | kSized);
  append_varint64(message, value.size());
  message += value;
}

// A plane in the making: gives names their ids.
class Plane {
 public:
  Plane(int64_t id, std::string_view name, int64_t start_unix_ns) : start_(start_unix_ns) {
    add(message_, kId, id);
    add(message_, kPlaneName, name);
  }

  // `events` are messages of add_event(), one after another.
  void add_line(int64_t id, std::string_view name, std::string_view events) {
    std::string line;
    add(line, kId, id);
    add(line, kLineName, name);
    add(line, kLineStart, start_);
    line += events;
    add(message_, kPlaneLines, line);
  }

  // Adds an event of a line to `line`. `op`: what it ran, null for other events.
  void add_event(std::string& line, const Event& event, std::string_view name,
                 const tracing::Op* op = nullptr) {
    std::string message;
    add(message, kEventName, name_id(name, op));
    add(message, kEventOffset, event.begin * kPicoseconds);
    add(message, kEventDuration, (event.end - event.begin) * kPicoseconds);
    for (const tracing::Arg& arg : event.args) {
      if (arg.key == nullptr) continue;
      add(message, kEventStats, stat(arg.key, kStatInt, arg.value));
    }
    add(line, kLineEvents, message);
  }

  std::string finish() && {
    for (const auto& [name, id] : stats_) {
      std::string value;
      add(value, kId, id);
      add(value, kName, name);
      add_entry(kPlaneStatNames, id, value);
    }
    return std::move(message_);
  }

 private:
  void add_entry(uint64_t field, int64_t id, std::string_view value) {
    std::string entry;
    add(entry, kKey, id);
    add(entry, kValue, value);
    add(message_, field, entry);
  }

  template <class T>
  std::string stat(std::string_view name, uint64_t field, const T& value) {
    const auto [entry, added] =
        stats_.try_emplace(std::string(name), static_cast<int64_t>(stats_.size()) + 1);
    std::string message;
    add(message, kStatName, entry->second);
    add(message, field, value);
    return message;
  }

  int64_t name_id(std::string_view name, const tracing::Op* op) {
    const auto [entry, added] =
        names_.try_emplace({std::string(name), op}, static_cast<int64_t>(names_.size()) + 1);
    if (!added) return entry->second;
    std::string value;
    add(value, kId, entry->second);
    add(value, kName, op == nullptr ? name : std::string_view(op->expression));
    add(value, kNameDisplay, name);
    if (op != nullptr) {
      add(value, kNameStats, stat("hlo_category", kStatText, std::string_view(op->category)));
      add(value, kNameStats, stat("flops", kStatUint, static_cast<int64_t>(op->flops)));
      add(value, kNameStats, stat("bytes_accessed", kStatUint, static_cast<int64_t>(op->bytes)));
      if (!op->scope.empty()) {
        add(value, kNameStats, stat("tf_op", kStatText, std::string_view(op->scope)));
      }
    }
    add_entry(kPlaneEventNames, entry->second, value);
    return entry->second;
  }

  std::string message_;
  int64_t start_;
  std::map<std::string, int64_t> stats_;
  std::map<std::pair<std::string, const tracing::Op*>, int64_t> names_;
};

// The events of a row of the device. Those of several threads may overlap: one that begins before
// the one before it has ended is left out.
std::vector<Event> row_of(const tracing::Recording& recording, Kind kind) {
  std::vector<Event> all;
  for (const tracing::ThreadEvents& thread : recording.threads) {
    std::ranges::copy_if(thread.events, std::back_inserter(all),
                         [&](const Event& event) { return event.kind == kind; });
  }
  std::ranges::stable_sort(all, {}, &Event::begin);
  std::vector<Event> row;
  for (const Event& event : all) {
    if (row.empty() || event.begin >= row.back().end) row.push_back(event);
  }
  return row;
}

const tracing::Program* program_of(const tracing::Recording& recording, const Event& event) {
  const auto program = recording.programs.find(event.arg("program"));
  return program == recording.programs.end() ? nullptr : program->second.get();
}

std::string device_plane(const tracing::Recording& recording) {
  Plane plane(1, "/device:TPU:0", recording.start_unix_ns);
  std::string programs;
  for (const Event& event : row_of(recording, Kind::step)) {
    if (const auto* const program = program_of(recording, event)) {
      plane.add_event(programs, event, program->name);
    }
  }
  std::string ops;
  for (const Event& event : row_of(recording, Kind::op)) {
    const auto* const program = program_of(recording, event);
    const auto op = static_cast<size_t>(event.arg("op"));
    if (program == nullptr || op >= program->ops.size()) continue;
    plane.add_event(ops, event, program->ops[op].name, &program->ops[op]);
  }
  plane.add_line(1, "XLA Modules", programs);
  plane.add_line(2, "XLA Ops", ops);
  return std::move(plane).finish();
}

std::string host_plane(const tracing::Recording& recording) {
  Plane plane(2, "/host:systole", recording.start_unix_ns);
  for (const tracing::ThreadEvents& thread : recording.threads) {
    std::string events;
    for (const Event& event : thread.events) {
      if (event.kind == Kind::op || event.kind == Kind::step) continue;
      plane.add_event(events, event, event.name);
    }
    if (events.empty()) continue;
    plane.add_line(thread.id,
                   thread.name.empty() ? fmt::format("thread {}", thread.id) : thread.name, events);
  }
  return std::move(plane).finish();
}

}  // namespace

std::string xspace_bytes(const tracing::Recording& recording) {
  std::string space;
  add(space, kSpacePlanes, device_plane(recording));
  add(space, kSpacePlanes, host_plane(recording));
  return space;
}

}  // namespace systole::plugin
