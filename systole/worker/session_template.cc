#include "systole/worker/session_template.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>

#include "systole/base/error.h"
#include "systole/base/mutex.h"
#include "systole/worker/socket_messages.h"

namespace systole::worker {
namespace {

constexpr size_t kFiles = 4;

std::shared_ptr<SharedCounters> make_counters() {
  void* const memory = ::mmap(nullptr, sizeof(SharedCounters), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw make_error(Code::resource_exhausted, "worker: shared memory, got none");
  }
  return {new (memory) SharedCounters(),
          [](SharedCounters* counters) { ::munmap(counters, sizeof *counters); }};
}

// The control data of a message with descriptors.
struct FilesMessage {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kFiles)> bytes{};
  iovec part{};
  msghdr header{};

  FilesMessage(void* data, size_t size) : part{data, size} {
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = bytes.data();
    header.msg_controllen = bytes.size();
  }
};

bool send_with_files(int socket, const void* data, size_t size,
                     const std::array<int, kFiles>& files) {
  FilesMessage message(const_cast<void*>(data), size);
  if (files[0] < 0) {
    message.header.msg_control = nullptr;
    message.header.msg_controllen = 0;
  } else {
    cmsghdr* const control = CMSG_FIRSTHDR(&message.header);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof(int) * kFiles);
    std::memcpy(CMSG_DATA(control), files.data(), sizeof files);
  }
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket, &message.header, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(size);
}

bool receive_with_files(int socket, void* data, size_t size, std::array<int, kFiles>& files) {
  FilesMessage message(data, size);
  ssize_t received = 0;
  do {
    received = ::recvmsg(socket, &message.header, MSG_CMSG_CLOEXEC);
  } while (received < 0 && errno == EINTR);
  files.fill(-1);
  const cmsghdr* const control = CMSG_FIRSTHDR(&message.header);
  if (control != nullptr && control->cmsg_type == SCM_RIGHTS &&
      control->cmsg_len == CMSG_LEN(sizeof files)) {
    std::memcpy(files.data(), CMSG_DATA(control), sizeof files);
  }
  return received == static_cast<ssize_t>(size);
}

}  // namespace

struct SessionTemplate::Order {
  pid_t wait_for = 0;  // 0: fork
  SessionSeat seat;
};

struct SessionTemplate::Answer {
  pid_t process = -1;
  int status = 0;
  int error = 0;
};

SessionTemplate::SessionTemplate(Main main) : main_(std::move(main)), counters_(make_counters()) {
  for (int slot = kMaxSessionProcesses; slot > 0; --slot) free_slots_.push_back(slot - 1);
  const auto [ours, theirs] = make_socket_pair(SOCK_SEQPACKET);
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ < 0) {
    ::close(ours);
    ::close(theirs);
    throw make_error(Code::resource_exhausted, "worker: process, got '{}' from fork",
                     std::strerror(errno));  // NOLINT(concurrency-mt-unsafe)
  }
  if (process_ == 0) {
    ::close(ours);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(0);
    serve(theirs);
  }
  ::close(theirs);
  socket_ = ours;
}

SessionTemplate::~SessionTemplate() {
  ::close(socket_);
  ::waitpid(process_, nullptr, 0);
}

// The template's process. Children that nobody waits for end with it.
void SessionTemplate::serve(int socket) const {
  ::prctl(PR_SET_NAME, "systole-template");
  Order order;
  std::array<int, kFiles> files{};
  while (receive_with_files(socket, &order, sizeof order, files)) {
    Answer answer;
    if (order.wait_for > 0) {
      while (::waitpid(order.wait_for, &answer.status, 0) < 0 && errno == EINTR) {
      }
    } else {
      const pid_t self = ::getpid();
      answer.process = ::fork();
      answer.error = answer.process < 0 ? errno : 0;
      if (answer.process == 0) {
        ::close(socket);
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != self) ::_exit(0);
        order.seat.operations = files[0];
        order.seat.recordings = files[1];
        order.seat.uploads = files[2];
        order.seat.results = files[3];
        try {
          main_(order.seat, counters_);
        } catch (const std::exception& error) {
          std::fprintf(stderr, "worker: process of a session: %s\n", error.what());
          ::_exit(1);
        }
        ::_exit(0);
      }
    }
    for (const int file : files) {
      if (file >= 0) ::close(file);
    }
    if (!send_with_files(socket, &answer, sizeof answer, {-1, -1, -1, -1})) break;
  }
  ::_exit(0);
}

SessionTemplate::Answer SessionTemplate::ask(const Order& order,
                                             const std::array<int, kFiles>& files) {
  Answer answer;
  std::array<int, kFiles> none{};
  if (!send_with_files(socket_, &order, sizeof order, files) ||
      !receive_with_files(socket_, &answer, sizeof answer, none)) {
    works_ = false;
    throw make_error(Code::unavailable,
                     "worker: process that makes the processes of sessions, got its end");
  }
  return answer;
}

pid_t SessionTemplate::fork(SessionSeat& seat) {
  const MutexLock lock(mutex_);
  if (free_slots_.empty()) {
    throw make_error(Code::resource_exhausted, "worker: processes of sessions, got more than {}",
                     kMaxSessionProcesses);
  }
  seat.slot = free_slots_.back();
  const Answer answer =
      ask({.seat = seat}, {seat.operations, seat.recordings, seat.uploads, seat.results});
  if (answer.process < 0) {
    throw make_error(Code::resource_exhausted, "worker: process of a session, got '{}' from fork",
                     std::strerror(answer.error));  // NOLINT(concurrency-mt-unsafe)
  }
  free_slots_.pop_back();
  return answer.process;
}

int SessionTemplate::wait(pid_t process, int slot) {
  const MutexLock lock(mutex_);
  Answer answer;
  if (works_) {
    try {
      answer = ask({.wait_for = process}, {-1, -1, -1, -1});
    } catch (const Error&) {
      answer.status = SIGKILL;  // it ended with the template
    }
  }
  SharedCounters::Session& session = counters_->sessions[slot];
  counters_->total -= session.held.exchange(0);
  session.cached = 0;
  free_slots_.push_back(slot);
  return answer.status;
}

}  // namespace systole::worker
