// Event files: TFRecord files with one event a record, named
// events.out.tfevents.<seconds>.<host>[suffix]. The first event has the version "brain.Event:2".
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "systole/base/clock.h"
#include "systole/base/file_system.h"
#include "systole/io/events/event.h"
#include "systole/io/records/tfrecord.h"

namespace tensorflow {
class Event;
}  // namespace tensorflow

namespace systole {

// Returns the values as a Summary message. Concatenated messages are one message with all values.
// Errors: INVALID_ARGUMENT for a value without a kind.
std::string summary_bytes(std::span<const SummaryValue> values);

// Appends events to a new file of a directory. Buffers events in memory until flush() or close(),
// so that readers see whole events. Not thread-safe.
class EventWriter {
 public:
  // Makes the directory and the file. `file_system` and `clock` must outlive the writer. Errors of
  // all methods: those of the file system.
  EventWriter(FileSystem& file_system, const std::string& directory, std::string_view suffix = "",
              Clock& clock = real_clock());
  ~EventWriter();

  void add_scalar(std::string_view tag, int64_t step, double value);
  // Errors: those of make_histogram.
  void add_histogram(std::string_view tag, int64_t step, const Tensor& values);
  void add_histogram(std::string_view tag, int64_t step, const Histogram& histogram);
  void add_image(std::string_view tag, int64_t step, const SummaryImage& image);
  // Adds strings of any shape. TensorBoard shows a scalar as Markdown, others as a table.
  void add_text(std::string_view tag, int64_t step, const Tensor& text);
  // Adds a tensor of any dtype and shape.
  void add_tensor(std::string_view tag, int64_t step, const Tensor& value);
  // `bytes` of a GraphDef message.
  void add_graph(std::string_view bytes, int64_t step = 0);
  // `bytes` of a MetaGraphDef message.
  void add_meta_graph(std::string_view bytes, int64_t step = 0);
  // `checkpoint_path` is the prefix without the step, as TensorFlow writes it.
  void add_session_log(SessionStatus status, int64_t step, std::string_view checkpoint_path = "");
  // Adds several values of one step in one event. Errors: INVALID_ARGUMENT for a value without a
  // kind.
  void add_values(int64_t step, std::span<const SummaryValue> values);
  // Adds the `bytes` of a Summary message (summary_bytes()). Errors: INVALID_ARGUMENT for other
  // bytes.
  void add_summary(std::string_view bytes, int64_t step);

  void flush();
  void close();
  const std::string& path() const { return path_; }

 private:
  void write(tensorflow::Event& event, int64_t step);

  Clock& clock_;
  std::string path_;
  std::unique_ptr<WritableFile> file_;
  std::unique_ptr<RecordWriter> records_;
};

}  // namespace systole
