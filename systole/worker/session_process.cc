#include "systole/worker/session_process.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <utility>

#include "systole/base/clock.h"
#include "systole/base/log.h"
#include "systole/base/mutex.h"
#include "systole/worker/protocol/convert.h"
#include "systole/worker/session_messages.h"
#include "systole/worker/socket_messages.h"

namespace systole::worker {
namespace {

// Bytes of freed arrays that the worker's arenas, all together, keep for new arrays.
constexpr int64_t kMaxCachedBytes = int64_t{128} << 20;
// Besides the arrays: blocks are whole pages, and leave gaps.
constexpr int64_t kArenaSlack = int64_t{1} << 30;
constexpr int64_t kMinArenaBytes = int64_t{128} << 20;
constexpr int kRecordingSeconds = 2;

// One of `bytes` of addresses, or of fewer where those of this process are limited.
std::shared_ptr<SharedArena> make_arena(int64_t bytes) {
  while (true) {
    try {
      return SharedArena::make(bytes);
    } catch (const Error&) {
      if (bytes < kMinArenaBytes) throw;
      bytes /= 2;
    }
  }
}

// "was ended by SIGSEGV".
std::string end_text(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    const char* const name = ::sigabbrev_np(signal);
    return fmt::format("was ended by SIG{}", name == nullptr ? std::to_string(signal) : name);
  }
  return fmt::format("ended with status {}", WEXITSTATUS(status));
}

// The uploads that an operation uses.
std::vector<uint64_t> uploads_of(const v1::Request& request) {
  std::vector<uint64_t> ids;
  const auto add = [&](const v1::Data& data) {
    if (data.place_case() == v1::Data::kTransfer) ids.push_back(data.transfer());
  };
  if (request.has_compile()) add(request.compile().program());
  if (request.has_deserialize()) add(request.deserialize().bytes());
  if (request.has_put()) add(request.put().value());
  for (const auto& argument : request.execute().arguments()) {
    if (argument.has_host()) add(argument.host());
  }
  return ids;
}

}  // namespace

SessionProcess::SessionProcess(SessionTemplate& processes, const WorkerLimits& limits,
                               int64_t max_bytes)
    : processes_(processes) {
  const auto& counters = processes.counters();
  const int64_t arena_bytes = 2 * max_bytes + kArenaSlack;
  uploads_ = make_arena(arena_bytes);
  uploads_->allocate_here({counters, &counters->cached}, kMaxCachedBytes);
  results_ = make_arena(arena_bytes);
  const std::array<int, 2> operations = make_socket_pair(SOCK_STREAM);
  operations_ = operations[0];
  const std::array<int, 2> recordings = make_socket_pair(SOCK_STREAM);
  recordings_ = recordings[0];
  const timeval limit = {.tv_sec = kRecordingSeconds, .tv_usec = 0};
  ::setsockopt(recordings_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  seat_ = {.max_bytes = max_bytes,
           .max_program_bytes = limits.max_program_bytes,
           .max_compile_seconds = limits.max_compile_seconds,
           .operations = operations[1],
           .recordings = recordings[1],
           .uploads = uploads_->file(),
           .results = results_->file()};
  try {
    process_ = processes.fork(seat_);
  } catch (const Error&) {
    for (const int socket : {operations[0], operations[1], recordings[0], recordings[1]}) {
      ::close(socket);
    }
    throw;
  }
  ::close(operations[1]);
  ::close(recordings[1]);
}

SessionProcess::~SessionProcess() {
  end("");
  ::close(operations_);
  ::close(recordings_);
}

std::unique_ptr<Transfers> SessionProcess::make_transfers(std::shared_ptr<MemoryAccount> account) {
  auto transfers = std::make_unique<Transfers>(std::move(account), uploads_, results_);
  transfers_ = transfers.get();
  return transfers;
}

void SessionProcess::run(v1::Request& request, v1::Reply& reply) {
  for (const uint64_t id : request.free()) transfers_->free(id);
  v1::SessionRequest message;
  for (const MovedArray& array : transfers_->hand_over(uploads_of(request))) {
    to_wire(array, *message.add_uploads());
  }
  message.mutable_request()->Swap(&request);
  exchange(message, reply);
}

void SessionProcess::refuse(v1::Request& request, const Error& error, v1::Reply& reply) {
  for (const uint64_t id : request.free()) transfers_->free(id);
  v1::SessionRequest message;
  to_wire(error, *message.mutable_refused());
  message.mutable_request()->Swap(&request);
  exchange(message, reply);
}

void SessionProcess::exchange(v1::SessionRequest& message, v1::Reply& reply) {
  const uint64_t op_id = reply.op_id();
  const std::string operation = span_of(message.request()).name;
  began_ = steady_ns();
  v1::SessionReply answer;
  const bool answered = send_message(operations_, message) && receive_message(operations_, answer);
  began_ = 0;
  if (!answered) return lose(operation, reply);
  try {
    for (const v1::SharedArray& array : answer.results()) transfers_->take_over(from_wire(array));
  } catch (const Error& error) {
    end(fmt::format("was ended for a damaged answer: {}", error.message()));
    return lose(operation, reply);
  }
  buffers_ = answer.buffers();
  executables_ = answer.executables();
  reply.Swap(answer.mutable_reply());
  reply.set_op_id(op_id);
}

void SessionProcess::lose(const std::string& operation, v1::Reply& reply) {
  end("");
  buffers_ = 0;
  executables_ = 0;
  const MutexLock lock(mutex_);
  const std::string how = why_.empty() ? end_text(status_) : why_;
  const Error error = make_error(
      why_.empty() ? Code::internal : Code::resource_exhausted,
      "worker: process of the session, which {} within '{}': what the session held is lost", how,
      operation);
  const uint64_t op_id = reply.op_id();
  reply.Clear();
  reply.set_op_id(op_id);
  to_wire(error, *reply.mutable_error());
  reply.mutable_error()->set_launched(true);
}

void SessionProcess::end(const std::string& why) {
  const MutexLock lock(mutex_);
  if (waited_for_) return;
  // One that has ended by itself is not hurt: nobody has waited for it, so that its number is its
  // own still.
  ::kill(process_, SIGKILL);
  why_ = why;
  status_ = processes_.wait(process_, seat_.slot);
  waited_for_ = true;
  if (!why.empty()) log_warning("worker: process of a session, {}: it {}", process_, why);
}

void SessionProcess::check(double max_seconds) {
  const int64_t began = began_;
  if (began == 0 || 1e-9 * static_cast<double>(steady_ns() - began) < max_seconds) return;
  end(fmt::format("was ended after {} s", max_seconds));
}

int64_t SessionProcess::private_bytes() const {
  const MutexLock lock(mutex_);
  if (waited_for_) return 0;
  const std::string path = fmt::format("/proc/{}/statm", process_);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  std::array<char, 256> text{};
  const ssize_t size = ::read(file, text.data(), text.size() - 1);
  ::close(file);
  long total = 0;
  long resident = 0;
  long shared = 0;
  // NOLINTNEXTLINE(cert-err34-c): three numbers of the kernel
  if (size <= 0 || std::sscanf(text.data(), "%ld %ld %ld", &total, &resident, &shared) != 3)
    return 0;
  return int64_t{resident - shared} * ::sysconf(_SC_PAGESIZE);
}

int64_t SessionProcess::counted_bytes() const {
  return processes_.counters()->sessions[seat_.slot].held;
}

v1::RecordingReply SessionProcess::ask(const v1::RecordingRequest& request) {
  const MutexLock lock(recording_mutex_);
  v1::RecordingReply reply;
  if (!send_message(recordings_, request) || !receive_message(recordings_, reply)) return {};
  return reply;
}

void SessionProcess::begin_recording(int64_t events_per_thread) {
  v1::RecordingRequest request;
  request.mutable_begin()->set_events_per_thread(events_per_thread);
  ask(request);
}

int64_t SessionProcess::recorded_steps() {
  v1::RecordingRequest request;
  request.mutable_count();
  return ask(request).steps();
}

std::string SessionProcess::end_recording(int64_t max_bytes) {
  v1::RecordingRequest request;
  request.mutable_end()->set_max_bytes(max_bytes);
  return std::move(*ask(request).mutable_recording());
}

}  // namespace systole::worker
