// Makes the processes of sessions.
#pragma once

#include <sys/types.h>

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "systole/base/mutex.h"
#include "systole/worker/memory_account.h"
#include "systole/worker/shared_arena.h"
#include "systole/worker/worker_options.h"

namespace systole::worker {

inline constexpr int kMaxSessionProcesses = 1024;

// What the processes of a worker count together. Lies in memory that they share.
struct SharedCounters {
  struct Session {
    ByteCounter held = 0;    // by the session's process
    ByteCounter cached = 0;  // of arenas from which that process allocates
  };
  ByteCounter total = 0;   // of all sessions, here and in their processes
  ByteCounter cached = 0;  // of arenas from which the worker allocates
  std::array<Session, kMaxSessionProcesses> sessions;
};

// What the process of a session starts with. The descriptors are its own.
struct SessionSeat {
  int slot = 0;
  int64_t max_bytes = 0;
  int64_t max_program_bytes = 0;
  double max_compile_seconds = 0;
  int operations = -1;  // sockets
  int recordings = -1;
  int uploads = -1;  // arenas: from which the worker allocates,
  int results = -1;  // and from which the session's process does
};

// A process that was forked while this one had a single thread, and that forks the processes of
// sessions: a process with threads must not fork one that goes on to compute. It ends, and all that
// it forked, when this process ends. Thread-safe.
class SessionTemplate {
 public:
  // What the process of a session does. It ends when this returns.
  using Main =
      std::function<void(const SessionSeat& seat, const std::shared_ptr<SharedCounters>& counters)>;

  // Forks. REQUIRES: this process has one thread. Errors: RESOURCE_EXHAUSTED.
  explicit SessionTemplate(Main main);
  ~SessionTemplate();
  SessionTemplate(const SessionTemplate&) = delete;
  SessionTemplate& operator=(const SessionTemplate&) = delete;

  // Forks the process of a session, which gets the descriptors of the seat. Sets the slot. Errors:
  // RESOURCE_EXHAUSTED; UNAVAILABLE when the template itself has ended.
  pid_t fork(SessionSeat& seat);
  // Waits for a process, frees its slot and what it held. Returns the status as waitpid() gives it.
  int wait(pid_t process, int slot);

  const std::shared_ptr<SharedCounters>& counters() const { return counters_; }
  // The template itself.
  pid_t process() const { return process_; }
  // Whether the template can fork.
  bool works() const { return works_; }

 private:
  struct Order;
  struct Answer;
  [[noreturn]] void serve(int socket) const;
  Answer ask(const Order& order, const std::array<int, 4>& files);

  const Main main_;
  std::shared_ptr<SharedCounters> counters_;
  int socket_ = -1;
  pid_t process_ = -1;
  Mutex mutex_;
  std::atomic<bool> works_ = true;
  std::vector<int> free_slots_ SYSTOLE_GUARDED_BY(mutex_);
};

}  // namespace systole::worker
