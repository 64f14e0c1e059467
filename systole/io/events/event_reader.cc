#include "systole/io/events/event_reader.h"

#include <algorithm>

#include "systole/io/proto/event.pb.h"
#include "systole/io/wire/message.h"
#include "systole/io/wire/tensor_message.h"

namespace systole {
namespace {

Histogram histogram_from(const tensorflow::HistogramProto& message) {
  return {.min = message.min(),
          .max = message.max(),
          .num = message.num(),
          .sum = message.sum(),
          .sum_squares = message.sum_squares(),
          .bucket_limit = {message.bucket_limit().begin(), message.bucket_limit().end()},
          .bucket = {message.bucket().begin(), message.bucket().end()}};
}

SummaryValue value_from(std::string_view what, const tensorflow::Summary::Value& message) {
  using Value = tensorflow::Summary::Value;
  SummaryValue value{.tag = message.tag(),
                     .plugin = message.metadata().plugin_data().plugin_name()};
  switch (message.value_case()) {
    case Value::kSimpleValue:
      value.kind = SummaryValue::Kind::scalar;
      value.scalar = message.simple_value();
      break;
    case Value::kHisto:
      value.kind = SummaryValue::Kind::histogram;
      value.histogram = histogram_from(message.histo());
      break;
    case Value::kImage:
      value.kind = SummaryValue::Kind::image;
      value.image = {.height = message.image().height(),
                     .width = message.image().width(),
                     .colorspace = message.image().colorspace(),
                     .encoded = message.image().encoded_image_string()};
      break;
    case Value::kAudio:
      value.kind = SummaryValue::Kind::audio;
      break;
    case Value::kTensor:
      value.kind = SummaryValue::Kind::tensor;
      if (dtype_from_message(message.tensor().dtype()) != DType::invalid) {
        value.tensor = tensor_from_message(fmt::format("{}: value '{}'", what, message.tag()),
                                           message.tensor());
      }
      break;
    default:
      break;
  }
  return value;
}

Event event_from(std::string_view what, const tensorflow::Event& message) {
  using Proto = tensorflow::Event;
  Event event{.wall_time = message.wall_time(), .step = message.step()};
  switch (message.what_case()) {
    case Proto::kFileVersion:
      event.kind = Event::Kind::file_version;
      event.text = message.file_version();
      break;
    case Proto::kGraphDef:
      event.kind = Event::Kind::graph_def;
      event.text = message.graph_def();
      break;
    case Proto::kMetaGraphDef:
      event.kind = Event::Kind::meta_graph_def;
      event.text = message.meta_graph_def();
      break;
    case Proto::kLogMessage:
      event.kind = Event::Kind::log_message;
      event.text = message.log_message().message();
      break;
    case Proto::kTaggedRunMetadata:
      event.kind = Event::Kind::tagged_run_metadata;
      event.text = message.tagged_run_metadata().tag();
      break;
    case Proto::kSessionLog: {
      const int status = message.session_log().status();
      event.kind = Event::Kind::session_log;
      event.text = message.session_log().checkpoint_path();
      if (status >= 0 && status <= 3) event.status = static_cast<SessionStatus>(status);
      break;
    }
    case Proto::kSummary:
      event.kind = Event::Kind::summary;
      for (const auto& value : message.summary().value()) {
        event.values.push_back(value_from(what, value));
      }
      break;
    default:
      break;
  }
  return event;
}

void add_value(EventFileSummary& summary, const SummaryValue& value, int64_t step) {
  auto& rows = summary.tags[value.tag];
  auto row = std::ranges::find_if(
      rows, [&](const TagSummary& r) { return r.kind == value.kind && r.plugin == value.plugin; });
  if (row == rows.end()) {
    rows.push_back(
        {.kind = value.kind, .plugin = value.plugin, .first_step = step, .first = value});
    row = rows.end() - 1;
  }
  ++row->count;
  row->last_step = step;
  row->last = value;
}

}  // namespace

std::string_view to_string(Event::Kind kind) {
  constexpr std::string_view kNames[] = {
      "none",        "file_version", "graph_def",           "summary",
      "log_message", "session_log",  "tagged_run_metadata", "meta_graph_def"};
  return kNames[static_cast<size_t>(kind)];
}

std::string_view to_string(SummaryValue::Kind kind) {
  constexpr std::string_view kNames[] = {"none",  "simple_value", "histo",
                                         "image", "audio",        "tensor"};
  return kNames[static_cast<size_t>(kind)];
}

Event parse_event(std::string_view what, std::string_view record) {
  tensorflow::Event message;
  parse_message(what, record, message);
  return event_from(what, message);
}

EventReader::EventReader(FileSystem& file_system, const std::string& path)
    : records_(file_system, path) {}

EventReader::~EventReader() = default;

std::optional<Event> EventReader::next() {
  const uint64_t offset = records_.offset();
  const auto record = records_.next();
  if (!record) return std::nullopt;
  return parse_event(fmt::format("{}: event at byte {}", records_.path(), offset), *record);
}

EventFileSummary summarize_events(FileSystem& file_system, const std::string& path) {
  EventReader reader(file_system, path);
  EventFileSummary summary;
  while (const auto event = reader.next()) {
    if (summary.num_events++ == 0) summary.first_wall_time = event->wall_time;
    summary.last_wall_time = event->wall_time;
    ++summary.kinds[std::string(to_string(event->kind))];
    for (const SummaryValue& value : event->values) add_value(summary, value, event->step);
  }
  return summary;
}

}  // namespace systole
