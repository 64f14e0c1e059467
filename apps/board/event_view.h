// Decodes events in place, without protobuf objects: a log directory may hold tens of millions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "systole/io/events/event.h"

namespace systole::board {

// One record of an event file. The views are valid as long as the record.
struct EventView {
  double wall_time = 0;  // seconds since the Unix epoch
  int64_t step = 0;
  Event::Kind kind = Event::Kind::none;
  std::string_view body;  // the message or text of `kind`: a Summary, a GraphDef, a SessionLog
};

// One value of a Summary.
struct ValueView {
  std::string_view tag;
  SummaryValue::Kind kind = SummaryValue::Kind::none;
  float simple_value = 0;    // of kind `scalar`
  std::string_view message;  // of the other kinds: a HistogramProto, Image, Audio or TensorProto
  std::string_view plugin;   // "scalars", "images"; "" if the value has no metadata
  std::string_view plugin_content;
  std::string_view display_name;
  std::string_view description;
};

// Errors: INVALID_ARGUMENT for bytes that are not a message.
EventView view_event(std::string_view record);

// Calls `visit(index, value)` for each value of a Summary, in order. Errors: INVALID_ARGUMENT for
// bytes that are not a message.
void visit_values(std::string_view summary,
                  const std::function<void(uint32_t, const ValueView&)>& visit);

// Returns the number in a TensorProto with one element. Returns nullopt for other tensors, strings
// and complex numbers. Errors: INVALID_ARGUMENT or DATA_LOSS for bytes that are not a TensorProto.
std::optional<double> scalar_of_tensor(std::string_view tensor);

}  // namespace systole::board
