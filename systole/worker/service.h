// What the calls of a worker do.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "systole/base/mutex.h"
#include "systole/worker/protocol/worker.pb.h"
#include "systole/worker/recorder.h"
#include "systole/worker/session.h"

namespace systole::worker {

// The other side of the call Profile. Used by one thread.
class ProfilePeer {
 public:
  virtual ~ProfilePeer() = default;
  // Waits for the next request. Returns false at the end of the stream. Errors: INVALID_ARGUMENT.
  virtual bool read(v1::ProfileRequest& request) = 0;
  // Returns false when the stream has ended.
  virtual bool write(const v1::ProfileReply& reply) = 0;
  // Returns a function that ends the stream from any thread, also after this object.
  virtual std::function<void()> canceller() = 0;
};

// Thread-safe. Callers have shown the token.
class WorkerService {
 public:
  // `context` and `options` must outlive it.
  WorkerService(const SessionContext& context, const WorkerOptions& options, std::string note);
  ~WorkerService();
  WorkerService(const WorkerService&) = delete;
  WorkerService& operator=(const WorkerService&) = delete;

  // The unary calls. Their errors are in worker.proto. hello() and close() may take
  // seconds for the process of a session, status() does not block.
  v1::HelloReply hello(const v1::HelloRequest& request);
  v1::CloseReply close(const v1::SessionKey& key);
  v1::StatusReply status(const v1::StatusRequest& request);
  // Serves the call Profile until its end. Blocks.
  void profile(ProfilePeer& peer);

  // Errors: NOT_FOUND for a session that does not exist; PERMISSION_DENIED for a wrong token.
  std::shared_ptr<WorkerSession> find(const v1::SessionKey& key) const;
  // The same for a stream that attaches to the session.
  std::shared_ptr<WorkerSession> open(const v1::SessionKey& key);

  // Refuses new sessions, and tells the others without waiting for them.
  void preempt(const std::string& why, double grace_seconds);
  // Ends what is stale, frees what is closed.
  void check();
  // Ends all sessions.
  void close_all();
  // Sessions whose client is connected.
  int64_t num_connected() const;

 private:
  struct Entry {
    std::shared_ptr<WorkerSession> session;
    WorkerSession::Clock::time_point made = WorkerSession::Clock::now();
    bool opened = false;  // a stream has attached to it
  };

  // Counts one session more. Returns one that made room, which is closed, or null. Errors:
  // RESOURCE_EXHAUSTED. REQUIRES: the lock.
  std::shared_ptr<WorkerSession> reserve_place() SYSTOLE_REQUIRES(mutex_);
  v1::SessionKey add_session(const v1::HelloRequest& request, double lease_seconds);
  // REQUIRES: the lock.
  const Entry& find_entry(const v1::SessionKey& key) const SYSTOLE_REQUIRES(mutex_);
  std::unique_ptr<Recorder::Active> begin_recording(v1::ProfileBegin& begin, ProfilePeer& peer);
  std::string encoded_recording(Recorder::Active& active, const v1::ProfileBegin& begin) const;
  std::string remark_of_idle() const;
  // What the process of a session recorded. Ends its recording.
  static RecordingPart end_part(WorkerSession& session, int64_t max_bytes);
  // That of all processes; of the session `only` alone, unless that is 0.
  std::vector<RecordingPart> collect_parts(uint64_t only, int64_t max_bytes) const;
  int64_t recorded_steps() const;
  std::vector<std::shared_ptr<WorkerSession>> sessions() const;

  const SessionContext context_;
  const WorkerOptions& options_;
  const std::string note_;
  const uint64_t incarnation_;
  const WorkerSession::Clock::time_point begin_ = WorkerSession::Clock::now();
  std::atomic<bool> preempted_ = false;
  Recorder recorder_;
  mutable Mutex mutex_;
  std::map<uint64_t, Entry> sessions_ SYSTOLE_GUARDED_BY(mutex_);
  int64_t in_making_ SYSTOLE_GUARDED_BY(mutex_) = 0;  // sessions that are not in the map yet
  std::vector<std::thread> notices_ SYSTOLE_GUARDED_BY(mutex_);  // of preemption
};

// Returns a client's name for logs and other clients: without control characters, and not long.
std::string clean_name(std::string_view name);

}  // namespace systole::worker
