// Starts and ends the recording of a process, and what takes part in it: programs, input pipelines,
// workers. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "systole/tracing/recording.h"

namespace systole::tracing {

struct Options {
  // The most events that are kept of a thread: new ones then replace the oldest. An event takes 64
  // bytes; memory is allocated as events are recorded.
  int64_t events_per_thread = int64_t{1} << 18;
  bool workers = true;  // the workers of this process record, too: see WorkerSource
};

// Starts a recording. Returns false if one is in progress.
bool start(const Options& options = {});
// Ends the recording and returns it. Spans that are still open are not part of it. REQUIRES:
// start() returned true and stop() was not called since.
Recording stop();

// Returns whether the recording in progress has an event of this kind.
bool has_recorded(Kind kind);
// Returns the number of events of Kind::step in the recording in progress; 0 if there is none.
int64_t recorded_steps();

// Returns a number for Program::id.
int64_t new_program_id();

// Keeps the program for the recording, if there is one.
void note_program(const std::shared_ptr<const Program>& program);
// Registers an input pipeline: as long as this object lives, recordings count the pipeline's work.
// They hold the differences of its counters between their start and their end.
class InputSource {
 public:
  // `read` is thread-safe and valid until release().
  explicit InputSource(std::function<std::vector<Stage>()> read);
  ~InputSource() { release(); }
  InputSource(const InputSource&) = delete;
  InputSource& operator=(const InputSource&) = delete;
  void release();

 private:
  std::function<std::vector<Stage>()> read_;
};

// A recording of a worker in progress.
class WorkerCapture {
 public:
  // Ends it, if finish() did not.
  virtual ~WorkerCapture() = default;
  // Ends it, and returns it on the time axis of `own`, the recording of this process. Does not
  // throw.
  virtual WorkerRecording finish(const Recording& own) = 0;
};

// Registers a worker: while this object lives, each recording of this process also records that
// worker. Sources with the same address are recorded once.
class WorkerSource {
 public:
  // Returns null if the worker cannot be asked. Is thread-safe, does not throw, and may still be
  // called shortly after the source's end.
  using Begin = std::function<std::unique_ptr<WorkerCapture>()>;
  WorkerSource(std::string address, Begin begin);
  ~WorkerSource();
  WorkerSource(const WorkerSource&) = delete;
  WorkerSource& operator=(const WorkerSource&) = delete;

  struct Entry;

 private:
  std::shared_ptr<const Entry> entry_;
};

}  // namespace systole::tracing
