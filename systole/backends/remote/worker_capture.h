// Recordings of a worker beside those of this process.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "systole/base/mutex.h"
#include "systole/tracing/recorder.h"
#include "systole/worker/protocol/convert.h"
#include "systole/worker/protocol/profile_stream.h"

namespace systole::remote {

// The calls of a connection while this process records. Thread-safe.
class CallLog {
 public:
  struct Call {
    int64_t begin = 0;  // steady nanoseconds
    int64_t end = 0;
    worker::OperationSpan what;
    uint64_t op = 0;  // its number
  };
  // Returns the time, or 0 while nothing is recorded.
  static int64_t now();
  // Adds a call that began at `begin` and ends now. Of many the newest are left out.
  void add(int64_t begin, const worker::v1::Request& request);
  std::vector<Call> take();

 private:
  Mutex mutex_;
  std::vector<Call> calls_ SYSTOLE_GUARDED_BY(mutex_);
};

// Returns rows of calls that do not overlap, their times since `start_ns`.
std::vector<tracing::ThreadEvents> rows_of(std::vector<CallLog::Call> calls, int64_t start_ns,
                                           const std::string& address);

// Records a worker. On one thread.
class RemoteCapture final : public tracing::WorkerCapture {
 public:
  // Begins; a failure to is a warning, and the problem of the recording.
  RemoteCapture(std::string address, const worker::Credentials& credentials,
                const worker::v1::HelloReply& hello, std::shared_ptr<CallLog> calls);
  tracing::WorkerRecording finish(const tracing::Recording& own) override;

 private:
  const std::string address_;
  const std::shared_ptr<CallLog> calls_;
  std::unique_ptr<worker::ProfileStream> stream_;  // null after a failure
  std::string problem_;
};

}  // namespace systole::remote
