// The contents of event files, the logs that TensorBoard reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/io/events/histogram.h"

namespace systole {

struct SummaryImage {
  int height = 0;
  int width = 0;
  int colorspace = 0;   // the number of channels
  std::string encoded;  // PNG
};

// One named value of a step.
struct SummaryValue {
  enum class Kind : uint8_t { none, scalar, histogram, image, audio, tensor };
  std::string tag;
  Kind kind = Kind::none;
  float scalar = 0;
  Histogram histogram;
  SummaryImage image;
  Tensor tensor;       // of text: strings
  std::string plugin;  // "text" and so on; "" for summaries of TensorFlow 1
};

enum class SessionStatus : uint8_t { unspecified, start, stop, checkpoint };

struct Event {
  enum class Kind : uint8_t {
    none,
    file_version,
    graph_def,
    summary,
    log_message,
    session_log,
    tagged_run_metadata,
    meta_graph_def,
  };
  double wall_time = 0;  // seconds since the Unix epoch
  int64_t step = 0;
  Kind kind = Kind::none;
  // The file version, the bytes of a graph, a log message, or the path of a checkpoint.
  std::string text;
  SessionStatus status = SessionStatus::unspecified;
  std::vector<SummaryValue> values;
};

// Returns TensorFlow's name: "summary", "simple_value"...
std::string_view to_string(Event::Kind kind);
std::string_view to_string(SummaryValue::Kind kind);

}  // namespace systole
