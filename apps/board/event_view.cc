#include "apps/board/event_view.h"

#include <array>
#include <cstring>

#include "systole/io/proto/graph.pb.h"
#include "systole/io/wire/message.h"
#include "systole/io/wire/tensor_message.h"
#include "systole/io/wire/wire.h"

namespace systole::board {
namespace {

using wire::Reader;
using wire::Type;

// Reads the value of a fixed64 field as a double.
double read_double(Reader& reader) {
  const char* const at = reader.at();
  reader.skip();
  double value = 0;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

float read_float(Reader& reader) {
  const uint32_t bits = reader.fixed32();
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

void read_metadata(std::string_view metadata, ValueView& value) {
  Reader reader(metadata);
  while (reader.next()) {
    if (reader.is(1, Type::bytes)) {
      Reader plugin(reader.bytes());
      while (plugin.next()) {
        if (plugin.is(1, Type::bytes)) {
          value.plugin = plugin.bytes();
        } else if (plugin.is(2, Type::bytes)) {
          value.plugin_content = plugin.bytes();
        } else {
          plugin.skip();
        }
      }
    } else if (reader.is(2, Type::bytes)) {
      value.display_name = reader.bytes();
    } else if (reader.is(3, Type::bytes)) {
      value.description = reader.bytes();
    } else {
      reader.skip();
    }
  }
}

SummaryValue::Kind kind_of_field(uint32_t number) {
  switch (number) {
    case 4:
      return SummaryValue::Kind::image;
    case 5:
      return SummaryValue::Kind::histogram;
    case 6:
      return SummaryValue::Kind::audio;
    case 8:
      return SummaryValue::Kind::tensor;
    default:
      return SummaryValue::Kind::none;
  }
}

ValueView read_value(std::string_view message) {
  ValueView value;
  Reader reader(message);
  while (reader.next()) {
    if (reader.is(1, Type::bytes)) {
      value.tag = reader.bytes();
    } else if (reader.is(2, Type::fixed32)) {
      value.kind = SummaryValue::Kind::scalar;
      value.simple_value = read_float(reader);
    } else if (reader.is(9, Type::bytes)) {
      read_metadata(reader.bytes(), value);
    } else if (reader.type() == Type::bytes &&
               kind_of_field(reader.number()) != SummaryValue::Kind::none) {
      value.kind = kind_of_field(reader.number());
      value.message = reader.bytes();
    } else {
      reader.skip();
    }
  }
  return value;
}

Event::Kind event_kind_of_field(uint32_t number) {
  constexpr std::array<Event::Kind, 10> kKinds = {
      Event::Kind::none,           Event::Kind::none,        Event::Kind::none,
      Event::Kind::file_version,   Event::Kind::graph_def,   Event::Kind::summary,
      Event::Kind::log_message,    Event::Kind::session_log, Event::Kind::tagged_run_metadata,
      Event::Kind::meta_graph_def,
  };
  return number < kKinds.size() ? kKinds[number] : Event::Kind::none;
}

std::optional<double> scalar_of_any_tensor(std::string_view bytes) {
  tensorflow::TensorProto message;
  parse_message("tensor", bytes, message);
  const DType dtype = dtype_from_message(message.dtype());
  if (dtype == DType::invalid || !is_numeric(dtype) || is_complex(dtype)) return std::nullopt;
  const Tensor tensor = tensor_from_message("tensor", message);
  if (tensor.num_elements() != 1) return std::nullopt;
  return tensor.as_double(0);
}

}  // namespace

EventView view_event(std::string_view record) {
  EventView event;
  Reader reader(record);
  while (reader.next()) {
    if (reader.is(1, Type::fixed64)) {
      event.wall_time = read_double(reader);
    } else if (reader.is(2, Type::varint)) {
      event.step = static_cast<int64_t>(reader.varint());
    } else if (reader.type() == Type::bytes &&
               event_kind_of_field(reader.number()) != Event::Kind::none) {
      event.kind = event_kind_of_field(reader.number());
      event.body = reader.bytes();
    } else {
      reader.skip();
    }
  }
  return event;
}

void visit_values(std::string_view summary,
                  const std::function<void(uint32_t, const ValueView&)>& visit) {
  Reader reader(summary);
  for (uint32_t index = 0; reader.next();) {
    if (!reader.is(1, Type::bytes)) {
      reader.skip();
      continue;
    }
    visit(index++, read_value(reader.bytes()));
  }
}

std::optional<double> scalar_of_tensor(std::string_view tensor) {
  // One float as bytes or as a list, the form of almost all summaries of TensorFlow 2.
  constexpr uint64_t kFloat = 1;
  Reader reader(tensor);
  uint64_t dtype = 0;
  bool scalar_shape = true;
  std::optional<double> value;
  while (reader.next()) {
    if (reader.is(1, Type::varint)) {
      dtype = reader.varint();
    } else if (reader.is(2, Type::bytes)) {
      scalar_shape = reader.bytes().empty();
    } else if (reader.is(4, Type::bytes) || reader.is(5, Type::bytes)) {
      const std::string_view bytes = reader.bytes();
      float number = 0;
      if (bytes.size() != sizeof(number)) return scalar_of_any_tensor(tensor);
      std::memcpy(&number, bytes.data(), sizeof(number));
      value = number;
    } else if (reader.is(3, Type::varint)) {
      reader.skip();  // the version
    } else {
      return scalar_of_any_tensor(tensor);
    }
  }
  if (dtype == kFloat && scalar_shape && value) return value;
  return scalar_of_any_tensor(tensor);
}

}  // namespace systole::board
