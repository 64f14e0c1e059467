// A session: the operations of one client, in order, each carried out once.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "systole/base/mutex.h"
#include "systole/worker/operations.h"
#include "systole/worker/protocol/worker.pb.h"
#include "systole/worker/session_process.h"

namespace systole::worker {

// The stream that carries a session's replies. Calls of send() do not overlap.
class ReplySink {
 public:
  virtual ~ReplySink() = default;
  // Returns false when the stream has ended. May block while the client does not read.
  virtual bool send(const v1::Reply& reply) = 0;
  // Ends the stream, also a send() that blocks. Thread-safe.
  virtual void cancel() = 0;
};

// What all sessions share. All must outlive them.
struct SessionContext {
  runtime::Client& device;
  const WorkerLimits& limits;
  MemoryAccount& account;
  CompileService& compiler;
  SessionTemplate* processes = nullptr;  // null: operations run in this process
};

// Thread-safe.
class WorkerSession {
 public:
  using Clock = std::chrono::steady_clock;

  WorkerSession(const SessionContext& context, uint64_t id, std::string token, std::string client,
                double lease_seconds);
  // Waits for the operation under way.
  ~WorkerSession();
  WorkerSession(const WorkerSession&) = delete;
  WorkerSession& operator=(const WorkerSession&) = delete;

  uint64_t id() const { return id_; }
  const std::string& client() const { return client_; }
  bool has_token(std::string_view token) const;
  Transfers& transfers() { return *transfers_; }
  // The kernel's id of the thread of this process that carries out the operations.
  int64_t thread_id() const { return thread_id_; }
  // The process that carries them out; null for this one.
  SessionProcess* process() { return process_; }

  // Continues on a new stream, which replaces an old one: sends `open`, then the replies above
  // `acknowledged`. Errors: FAILED_PRECONDITION for a closed session; DATA_LOSS if the client
  // acknowledges replies that were not sent.
  void attach(std::shared_ptr<ReplySink> sink, uint64_t acknowledged);
  // The stream has ended: the lease begins.
  void detach(const ReplySink& sink);
  // Takes a request from the stream. One that was taken before is skipped. Errors, which end the
  // session: INVALID_ARGUMENT for a number that is not the next; RESOURCE_EXHAUSTED for far more
  // requests than the queue holds.
  void receive(v1::Request&& request);
  // Tells the client that the worker is about to end.
  void notify_preempted(const std::string& why, double grace_seconds);

  // Ends the session: frees everything as soon as the operation under way has ended.
  void close();
  // Whether close() has freed everything.
  bool freed() const { return freed_; }
  // Ends streams that stand still for `stall`, and the session when its lease is over. Returns
  // whether it is closed.
  bool check(Clock::time_point now, Clock::duration stall);
  v1::SessionStatus status() const;

 private:
  // A message that waits, and what it takes.
  struct QueuedRequest {
    v1::Request request;
    Charge charge;
  };
  struct KeptReply {
    v1::Reply reply;
    Charge charge;
  };

  void begin_runner();
  void execute_all();
  // Returns whether the client acknowledges replies as it should.
  bool deliver(v1::Reply&& reply);
  // REQUIRES: write_mutex_.
  void write(const v1::Reply& reply);

  const SessionContext context_;
  const uint64_t id_;
  const std::string token_;
  const std::string client_;
  const Clock::duration lease_;
  const Clock::time_point begin_ = Clock::now();
  const std::shared_ptr<MemoryAccount> account_;
  std::unique_ptr<Transfers> transfers_;
  std::unique_ptr<OperationRunner> runner_;
  SessionProcess* process_ = nullptr;  // the runner, if it is one

  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<QueuedRequest> queue_ SYSTOLE_GUARDED_BY(mutex_);
  uint64_t received_ SYSTOLE_GUARDED_BY(mutex_) = 0;
  bool closing_ SYSTOLE_GUARDED_BY(mutex_) = false;
  Clock::time_point last_received_ SYSTOLE_GUARDED_BY(mutex_) = Clock::now();
  Clock::time_point detached_ SYSTOLE_GUARDED_BY(mutex_) = Clock::now();  // if there is no sink

  // Guards the sink and the replies; locked before mutex_.
  Mutex write_mutex_;
  std::deque<KeptReply> unacknowledged_ SYSTOLE_GUARDED_BY(write_mutex_);
  uint64_t replied_ SYSTOLE_GUARDED_BY(write_mutex_) = 0;
  std::shared_ptr<ReplySink> sink_;      // changed under both mutexes
  std::atomic<int64_t> write_began_{0};  // steady nanoseconds; 0: nothing is written
  std::atomic<uint64_t> acknowledged_{0};
  std::atomic<int64_t> buffers_{0};
  std::atomic<int64_t> executables_{0};
  std::atomic<bool> freed_ = false;
  std::atomic<int64_t> thread_id_{0};
  std::thread executor_;  // last: uses all of the above
};

// Ends the process of a session that takes most memory beyond what is counted for it, when all
// processes together take more than `limit` and what code and passes need. `counted` is what is
// counted for all sessions.
void limit_memory(const std::vector<std::shared_ptr<WorkerSession>>& sessions, int64_t counted,
                  int64_t limit);

}  // namespace systole::worker
