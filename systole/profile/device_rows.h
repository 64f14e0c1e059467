// The rows of the device in trace viewers: steps, programs, ops, name scopes, source lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "systole/tracing/recording.h"

namespace systole::profile {

struct DeviceEvent {
  tracing::Event event;   // times in nanoseconds
  std::string_view name;  // "" for the event's own; memory of the recording
  int64_t step = -1;      // its number
};

struct DeviceRow {
  int64_t id = 0;
  std::string name;  // "Steps", "XLA Modules", "XLA Ops", "Framework Name Scope", "Source code"
  std::vector<DeviceEvent> events;  // by begin; they do not overlap
};

// Borrows names from the recording.
std::vector<DeviceRow> device_rows(const tracing::Recording& recording);

// The op of an event of Kind::op; null for others.
const tracing::Op* op_of(const tracing::Recording& recording, const tracing::Event& event);

}  // namespace systole::profile
