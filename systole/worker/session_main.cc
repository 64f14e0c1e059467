#include "systole/worker/session_main.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>
#include <thread>

#include "systole/base/error.h"
#include "systole/base/thread_name.h"
#include "systole/tracing/recorder.h"
#include "systole/worker/compile_service.h"
#include "systole/worker/operations.h"
#include "systole/worker/protocol/convert.h"
#include "systole/worker/protocol/convert_recording.h"
#include "systole/worker/session_messages.h"
#include "systole/worker/socket_messages.h"

namespace systole::worker {
namespace {

// Kept of freed results for new ones.
constexpr int64_t kMaxCachedBytes = int64_t{16} << 20;
// What the process may take besides what is counted: code, threads, passes.
constexpr int64_t kFreeBytes = int64_t{320} << 20;

// A recording of this process, at the request of the worker.
class RecordingDesk {
 public:
  explicit RecordingDesk(int socket) : socket_(socket), thread_([this] { serve(); }) {}
  ~RecordingDesk() {
    ::shutdown(socket_, SHUT_RDWR);
    thread_.join();
    ::close(socket_);
  }
  RecordingDesk(const RecordingDesk&) = delete;
  RecordingDesk& operator=(const RecordingDesk&) = delete;

 private:
  void serve() {
    bool recording = false;
    v1::RecordingRequest request;
    while (receive_message(socket_, request)) {
      v1::RecordingReply reply;
      if (request.has_begin()) {
        recording =
            recording || tracing::start({.events_per_thread = request.begin().events_per_thread(),
                                         .workers = false});
      }
      reply.set_steps(tracing::recorded_steps());
      if (request.has_end() && recording) {
        recording = false;
        reply.set_recording(encoded(request.end().max_bytes()));
      }
      if (!send_message(socket_, reply)) return;
    }
  }
  static std::string encoded(int64_t max_bytes) {
    try {
      return encode_recording(tracing::stop(), max_bytes);
    } catch (const Error&) {
      return "";  // larger than allowed: the worker's own part says so
    }
  }

  const int socket_;
  std::thread thread_;
};

bool receive_request(int socket, v1::SessionRequest& message) {
  const tracing::Span span("wait for requests");
  return receive_message(socket, message);
}

// The system ends this process first when memory is short, and refuses it memory far beyond what is
// counted.
void limit_own_memory(int64_t max_bytes) {
  if (std::FILE* const file = std::fopen("/proc/self/oom_score_adj", "we")) {
    std::fputs("900", file);
    std::fclose(file);
  }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  long data = 0;
  if (std::FILE* const file = std::fopen("/proc/self/statm", "re")) {
    // NOLINTNEXTLINE(cert-err34-c): numbers of the kernel
    if (std::fscanf(file, "%*d %*d %*d %*d %*d %ld", &data) != 1) data = 0;
    std::fclose(file);
  }
  const auto bytes =
      static_cast<rlim_t>(int64_t{data} * ::sysconf(_SC_PAGESIZE) + max_bytes + kFreeBytes);
  const rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes};
  ::setrlimit(RLIMIT_DATA, &limit);
#else
  static_cast<void>(max_bytes);
#endif
}

}  // namespace

void run_session(runtime::Client& device, const SessionSeat& seat,
                 const std::shared_ptr<SharedCounters>& counters, bool limit_memory) {
  if (limit_memory) limit_own_memory(seat.max_bytes);
  SharedCounters::Session& own = counters->sessions[seat.slot];
  const auto account =
      MemoryAccount::make(seat.max_bytes, {counters, &counters->total}, {counters, &own.held});
  const auto results = SharedArena::open(seat.results);
  results->allocate_here({counters, &own.cached}, kMaxCachedBytes);
  Transfers transfers(account, results, SharedArena::open(seat.uploads));
  const WorkerLimits limits = {.max_bytes = seat.max_bytes,
                               .max_program_bytes = seat.max_program_bytes,
                               .max_compile_seconds = seat.max_compile_seconds};
  CompileService compiler(limits.max_compile_seconds);
  Operations operations(device, limits, account, compiler, transfers);
  const RecordingDesk desk(seat.recordings);
  name_thread("session");
  v1::SessionRequest message;
  v1::SessionReply answer;
  while (receive_request(seat.operations, message)) {
    answer.Clear();
    v1::Reply& reply = *answer.mutable_reply();
    for (const v1::SharedArray& array : message.uploads()) transfers.take_over(from_wire(array));
    if (message.has_refused()) {
      operations.refuse(*message.mutable_request(), from_wire(message.refused()), reply);
    } else {
      operations.run(*message.mutable_request(), reply);
    }
    for (const MovedArray& array : transfers.hand_over_results()) {
      to_wire(array, *answer.add_results());
    }
    answer.set_buffers(operations.num_buffers());
    answer.set_executables(operations.num_executables());
    const tracing::Span span("reply", tracing::Kind::transfer);
    if (!send_message(seat.operations, answer)) break;
  }
  operations.clear();
  transfers.close();
  ::close(seat.operations);
}

}  // namespace systole::worker
