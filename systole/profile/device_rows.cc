#include "systole/profile/device_rows.h"

#include <algorithm>

#include "systole/profile/timeline.h"

namespace systole::profile {
namespace {

using tracing::Event;
using tracing::Kind;

// Events of several threads may overlap: a row keeps those that begin after the one before ended.
void add(DeviceRow& row, const DeviceEvent& event) {
  if (!row.events.empty() && event.event.begin < row.events.back().event.end) return;
  row.events.push_back(event);
}

// Adds to the event before if it has the same name and ends where this one begins.
void extend(DeviceRow& row, const Event& event, std::string_view name, int64_t step) {
  if (name.empty()) return;
  if (!row.events.empty() && row.events.back().name == name &&
      row.events.back().event.end == event.begin) {
    row.events.back().event.end = event.end;
    return;
  }
  add(row,
      {{.begin = event.begin, .end = event.end, .name = event.name, .kind = Kind::op}, name, step});
}

}  // namespace

const tracing::Op* op_of(const tracing::Recording& recording, const Event& event) {
  if (event.kind != Kind::op) return nullptr;
  const auto program = recording.programs.find(event.arg("program", 0));
  const auto op = static_cast<size_t>(event.arg("op", 0));
  if (program == recording.programs.end() || op >= program->second->ops.size()) return nullptr;
  return &program->second->ops[op];
}

std::vector<DeviceRow> device_rows(const tracing::Recording& recording) {
  std::vector<DeviceRow> rows = {{.id = 1, .name = "Steps"},
                                 {.id = 2, .name = "XLA Modules"},
                                 {.id = 3, .name = "XLA Ops"},
                                 {.id = 4, .name = "Framework Name Scope"},
                                 {.id = 5, .name = "Source code"}};
  const tracing::ThreadEvents* const thread = training_thread(recording);
  if (thread == nullptr) return rows;
  int64_t loop_step = -1;  // of the next step, in a loop of a training
  int64_t loop_end = -1;
  int64_t counted = 0;
  int64_t step = 0;
  for (const NestedSpan& span : nest(thread->events)) {
    const Event& event = *span.event;
    if (event.kind == Kind::loop) {
      loop_step = event.arg("step", 0);
      loop_end = event.end;
    } else if (event.kind == Kind::step) {
      step = event.begin < loop_end ? loop_step++ : counted++;
      add(rows[0], {event, {}, step});
      const auto program = recording.programs.find(event.arg("program", 0));
      if (program != recording.programs.end()) add(rows[1], {event, program->second->name, step});
    } else if (const tracing::Op* op = op_of(recording, event)) {
      add(rows[2], {event, op->name, step});
      extend(rows[3], event, op->scope, step);
      extend(rows[4], event, op->source, step);
    }
  }
  return rows;
}

}  // namespace systole::profile
