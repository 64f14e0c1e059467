#include "systole/io/events/event_writer.h"

#include <chrono>
#include <cmath>

#include "systole/base/environment.h"
#include "systole/io/proto/event.pb.h"
#include "systole/io/wire/message.h"
#include "systole/io/wire/tensor_message.h"

namespace systole {
namespace {

constexpr std::string_view kFileVersion = "brain.Event:2";

double seconds(Clock& clock) {
  return std::chrono::duration<double>(clock.now().time_since_epoch()).count();
}

// Finds a free name: two writers may start in the same second.
std::string free_path(FileSystem& file_system, const std::string& directory,
                      std::string_view suffix, double now) {
  const std::string path =
      join_path(directory, fmt::format("events.out.tfevents.{:010}.{}{}", static_cast<int64_t>(now),
                                       host_name(), suffix));
  std::string candidate = path;
  for (int i = 1; file_system.exists(candidate); ++i) candidate = fmt::format("{}.{}", path, i);
  return candidate;
}

void to_message(const Histogram& histogram, tensorflow::HistogramProto& message) {
  message.set_min(histogram.min);
  message.set_max(histogram.max);
  message.set_num(histogram.num);
  message.set_sum(histogram.sum);
  message.set_sum_squares(histogram.sum_squares);
  message.mutable_bucket_limit()->Add(histogram.bucket_limit.begin(), histogram.bucket_limit.end());
  message.mutable_bucket()->Add(histogram.bucket.begin(), histogram.bucket.end());
}

void to_message(const SummaryImage& image, tensorflow::Summary::Image& message) {
  message.set_height(image.height);
  message.set_width(image.width);
  message.set_colorspace(image.colorspace);
  message.set_encoded_image_string(image.encoded);
}

void to_message(const SummaryValue& value, tensorflow::Summary::Value& message) {
  message.set_tag(value.tag);
  if (!value.plugin.empty()) {
    message.mutable_metadata()->mutable_plugin_data()->set_plugin_name(value.plugin);
  }
  switch (value.kind) {
    case SummaryValue::Kind::scalar:
      return message.set_simple_value(value.scalar);
    case SummaryValue::Kind::histogram:
      return to_message(value.histogram, *message.mutable_histo());
    case SummaryValue::Kind::image:
      return to_message(value.image, *message.mutable_image());
    case SummaryValue::Kind::tensor:
      return tensor_to_message(value.tensor, *message.mutable_tensor());
    default:
      throw invalid_argument("event: value '{}', got one of kind {}, expected what can be written",
                             value.tag, to_string(value.kind));
  }
}

}  // namespace

std::string summary_bytes(std::span<const SummaryValue> values) {
  tensorflow::Summary message;
  for (const SummaryValue& value : values) to_message(value, *message.add_value());
  return serialize_message(message);
}

EventWriter::EventWriter(FileSystem& file_system, const std::string& directory,
                         std::string_view suffix, Clock& clock)
    : clock_(clock) {
  file_system.make_directories(directory);
  const double now = std::floor(seconds(clock));
  path_ = free_path(file_system, directory, suffix, now);
  file_ = file_system.create(path_);
  records_ = std::make_unique<RecordWriter>(*file_, path_);
  tensorflow::Event event;
  event.set_wall_time(now);
  event.set_file_version(std::string(kFileVersion));
  records_->write(serialize_message(event));
  flush();
}

EventWriter::~EventWriter() = default;

void EventWriter::write(tensorflow::Event& event, int64_t step) {
  event.set_wall_time(seconds(clock_));
  event.set_step(step);
  records_->write(serialize_message(event));
}

void EventWriter::add_values(int64_t step, std::span<const SummaryValue> values) {
  tensorflow::Event event;
  for (const SummaryValue& value : values) to_message(value, *event.mutable_summary()->add_value());
  write(event, step);
}

void EventWriter::add_summary(std::string_view bytes, int64_t step) {
  tensorflow::Event event;
  parse_message("event: summary", bytes, *event.mutable_summary());
  write(event, step);
}

void EventWriter::add_scalar(std::string_view tag, int64_t step, double value) {
  const SummaryValue scalar{.tag = std::string(tag),
                            .kind = SummaryValue::Kind::scalar,
                            .scalar = static_cast<float>(value)};
  add_values(step, {&scalar, 1});
}

void EventWriter::add_histogram(std::string_view tag, int64_t step, const Tensor& values) {
  add_histogram(tag, step, make_histogram(values));
}

void EventWriter::add_histogram(std::string_view tag, int64_t step, const Histogram& histogram) {
  const SummaryValue value{
      .tag = std::string(tag), .kind = SummaryValue::Kind::histogram, .histogram = histogram};
  add_values(step, {&value, 1});
}

void EventWriter::add_image(std::string_view tag, int64_t step, const SummaryImage& image) {
  const SummaryValue value{
      .tag = std::string(tag), .kind = SummaryValue::Kind::image, .image = image};
  add_values(step, {&value, 1});
}

void EventWriter::add_text(std::string_view tag, int64_t step, const Tensor& text) {
  if (text.dtype() != DType::string) {
    throw invalid_argument("event: text '{}', got {}, expected strings", tag, text.type());
  }
  const SummaryValue value{.tag = std::string(tag),
                           .kind = SummaryValue::Kind::tensor,
                           .tensor = text,
                           .plugin = "text"};
  add_values(step, {&value, 1});
}

void EventWriter::add_tensor(std::string_view tag, int64_t step, const Tensor& tensor) {
  const SummaryValue value{
      .tag = std::string(tag), .kind = SummaryValue::Kind::tensor, .tensor = tensor};
  add_values(step, {&value, 1});
}

void EventWriter::add_graph(std::string_view bytes, int64_t step) {
  tensorflow::Event event;
  event.set_graph_def(std::string(bytes));
  write(event, step);
}

void EventWriter::add_meta_graph(std::string_view bytes, int64_t step) {
  tensorflow::Event event;
  event.set_meta_graph_def(std::string(bytes));
  write(event, step);
}

void EventWriter::add_session_log(SessionStatus status, int64_t step,
                                  std::string_view checkpoint_path) {
  tensorflow::Event event;
  auto* log = event.mutable_session_log();
  log->set_status(static_cast<tensorflow::SessionLog::SessionStatus>(status));
  log->set_checkpoint_path(std::string(checkpoint_path));
  write(event, step);
}

void EventWriter::flush() { file_->flush(); }

void EventWriter::close() { file_->close(); }

}  // namespace systole
