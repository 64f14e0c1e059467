// Event files for programs that run their own session. (tf.summary.FileWriter)
//
//   auto merged = st::summary::merge_all();
//   st::summary::FileWriter writer("logs/train", &session.graph());
//   writer.add_summary(session.run({train_op, merged}, feeds)[1], step);
#pragma once

#include <chrono>
#include <string>

#include "systole/base/clock.h"
#include "systole/base/file_system.h"
#include "systole/base/tensor.h"
#include "systole/graph/core/graph.h"
#include "systole/io/events/event_writer.h"

namespace systole::summary {

struct FileWriterOptions {
  double flush_secs = 120;  // a call flushes if the last flush is longer ago
  std::string filename_suffix = {};
  // Null: default_file_system() and real_clock(). Both outlive the writer.
  FileSystem* file_system = nullptr;
  Clock* clock = nullptr;
};

// Not thread-safe. Errors: those of the file system.
class FileWriter {
 public:
  // Creates the directory and an event file, and writes `graph` to it unless it is null.
  explicit FileWriter(const std::string& logdir, const Graph* graph = nullptr,
                      const FileWriterOptions& options = {});
  // Flushes. An error is ignored: call close() to see it.
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  // `summary`: the value of a summary op or of merge_all(). Errors: INVALID_ARGUMENT for another
  // tensor.
  void add_summary(const Tensor& summary, int64_t global_step = 0);
  void add_graph(const Graph& graph, int64_t global_step = 0);
  void flush();
  // Flushes and closes the file. Idempotent. Nothing can be added afterwards.
  void close();

 private:
  Clock& clock_;
  EventWriter events_;
  double flush_secs_;
  std::chrono::steady_clock::time_point flushed_;
  bool closed_ = false;
};

}  // namespace systole::summary
