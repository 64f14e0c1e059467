#include "systole/backends/remote/worker_capture.h"

#include <algorithm>
#include <utility>

#include "systole/base/clock.h"
#include "systole/base/error.h"
#include "systole/base/log.h"
#include "systole/base/mutex.h"

namespace systole::remote {
namespace {

constexpr size_t kMaxCalls = size_t{1} << 18;
constexpr size_t kMaxRows = 64;
// Rows of calls are no threads: their ids are beyond the kernel's.
constexpr int64_t kFirstRow = int64_t{1} << 22;

// Shifts the events of `recording` to the time axis of `own`, and drops those outside of it.
void align(const tracing::Recording& own, tracing::Recording& recording) {
  const int64_t later = recording.start_steady_ns - own.start_steady_ns;
  for (tracing::ThreadEvents& thread : recording.threads) {
    for (tracing::Event& event : thread.events) {
      event.begin += later;
      event.end += later;
    }
    std::erase_if(thread.events, [&](const tracing::Event& event) {
      return event.begin < 0 || event.end > own.duration_ns;
    });
  }
  std::erase_if(recording.threads, [](const auto& thread) { return thread.events.empty(); });
  recording.start_steady_ns = own.start_steady_ns;
  recording.start_unix_ns = own.start_unix_ns;
  recording.duration_ns = own.duration_ns;
}

}  // namespace

int64_t CallLog::now() {
  if (!tracing::active()) return 0;
  return steady_ns();
}

void CallLog::add(int64_t begin, const worker::v1::Request& request) {
  const int64_t end = now();
  if (begin == 0 || end == 0) return;
  const MutexLock lock(mutex_);
  if (calls_.size() >= kMaxCalls) return;
  calls_.push_back({begin, end, worker::span_of(request), request.op_id()});
}

std::vector<CallLog::Call> CallLog::take() {
  const MutexLock lock(mutex_);
  return std::exchange(calls_, {});
}

std::vector<tracing::ThreadEvents> rows_of(std::vector<CallLog::Call> calls, int64_t start_ns,
                                           const std::string& address) {
  std::vector<tracing::ThreadEvents> rows;
  std::ranges::stable_sort(calls, {}, &CallLog::Call::begin);
  for (const CallLog::Call& call : calls) {
    if (call.begin < start_ns) continue;  // of an earlier recording
    const tracing::Event event{.begin = call.begin - start_ns,
                               .end = call.end - start_ns,
                               .name = call.what.name,
                               .kind = call.what.kind,
                               .args = {{"op", static_cast<int64_t>(call.op)}}};
    const auto row = std::ranges::find_if(
        rows, [&](const auto& other) { return other.events.back().end <= event.begin; });
    if (row != rows.end()) {
      row->events.push_back(event);
    } else if (rows.size() < kMaxRows) {
      rows.push_back({.name = fmt::format("calls of {} ({})", address, rows.size() + 1),
                      .id = kFirstRow + static_cast<int64_t>(rows.size()),
                      .events = {event}});
    } else {
      ++rows.back().dropped;
    }
  }
  return rows;
}

RemoteCapture::RemoteCapture(std::string address, const worker::Credentials& credentials,
                             const worker::v1::HelloReply& hello, std::shared_ptr<CallLog> calls)
    : address_(std::move(address)), calls_(std::move(calls)) {
  try {
    calls_->take();
    if (hello.version() < worker::kProfileVersion) {
      throw unimplemented("worker {}: no profile: its version of the protocol is {}, expected {}",
                          address_, hello.version(), worker::kProfileVersion);
    }
    worker::v1::ProfileBegin begin;
    *begin.mutable_session() = hello.session();
    stream_ = std::make_unique<worker::ProfileStream>(address_, credentials, begin);
  } catch (const Error& error) {
    problem_ = error.message();
    log_warning("profile: {}", problem_);
  }
}

tracing::WorkerRecording RemoteCapture::finish(const tracing::Recording& own) {
  tracing::WorkerRecording result;
  try {
    if (stream_ != nullptr) {
      result = stream_->finish();
      align(own, result.recording);
    }
  } catch (const Error& error) {
    result = {};
    problem_ = error.message();
    log_warning("profile: {}", problem_);
  }
  result.address = address_;
  result.problem = problem_;
  result.calls = rows_of(calls_->take(), own.start_steady_ns, address_);
  return result;
}

}  // namespace systole::remote
