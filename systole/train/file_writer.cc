#include "systole/train/file_writer.h"

#include "systole/base/log.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/session/graph_def/graph_def.h"

namespace systole::summary {

FileWriter::FileWriter(const std::string& logdir, const Graph* graph,
                       const FileWriterOptions& options)
    : clock_(options.clock == nullptr ? real_clock() : *options.clock),
      events_(file_system_or_default(options.file_system), logdir, options.filename_suffix, clock_),
      flush_secs_(options.flush_secs),
      flushed_(clock_.steady_now()) {
  if (graph != nullptr) add_graph(*graph);
}

FileWriter::~FileWriter() {
  try {
    close();
  } catch (const std::exception& error) {
    log_warning("FileWriter: {}", error.what());
  }
}

void FileWriter::add_summary(const Tensor& summary, int64_t global_step) {
  if (summary.dtype() != DType::string || summary.num_elements() != 1) {
    throw invalid_argument("FileWriter.add_summary: summary, got {}, expected a string scalar",
                           summary.type());
  }
  events_.add_summary(summary.item<std::string>(), global_step);
  if (std::chrono::duration<double>(clock_.steady_now() - flushed_).count() >= flush_secs_) flush();
}

void FileWriter::add_graph(const Graph& graph, int64_t global_step) {
  events_.add_graph(graph_def_bytes(graph), global_step);
}

void FileWriter::flush() {
  events_.flush();
  flushed_ = clock_.steady_now();
}

void FileWriter::close() {
  if (closed_) return;
  closed_ = true;
  events_.close();
}

}  // namespace systole::summary
