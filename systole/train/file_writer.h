// Event files of a program that runs its own session. (tf.summary.FileWriter)
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
#include "systole/graph/api/graph.h"
#include "systole/io/events/event_writer.h"

namespace systole::summary {

struct FileWriterOptions {
  double flush_secs = 120;  // what is added is in the file after so long at the latest, at a call
  std::string filename_suffix = {};
  // Null: default_file_system() and real_clock(). Both outlive the writer.
  FileSystem* file_system = nullptr;
  Clock* clock = nullptr;
};

// Not thread-safe. Errors: those of the file system.
class FileWriter {
 public:
  // Makes the directory and a file in it, and writes the graph there when it is given.
  explicit FileWriter(const std::string& logdir, const Graph* graph = nullptr,
                      const FileWriterOptions& options = {});
  // Writes what was added, without an error when that fails: call close() to see one.
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  // The value of a summary op or of merge_all(). Errors: INVALID_ARGUMENT for another tensor.
  void add_summary(const Tensor& summary, int64_t global_step = 0);
  void add_graph(const Graph& graph, int64_t global_step = 0);
  void flush();
  // Idempotent; nothing can be added then.
  void close();

 private:
  Clock& clock_;
  EventWriter events_;
  double flush_secs_;
  std::chrono::steady_clock::time_point flushed_;
  bool closed_ = false;
};

}  // namespace systole::summary
