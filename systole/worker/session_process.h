// A session whose operations run in a process of its own: the worker's side.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "systole/base/mutex.h"
#include "systole/worker/operation_runner.h"
#include "systole/worker/protocol/session_process.pb.h"
#include "systole/worker/session_template.h"
#include "systole/worker/transfers.h"

namespace systole::worker {

// Thread-safe but for the functions of OperationRunner that are not.
class SessionProcess final : public OperationRunner {
 public:
  // Forks it. `processes` must outlive it. Errors: those of SessionTemplate::fork().
  SessionProcess(SessionTemplate& processes, const WorkerLimits& limits, int64_t max_bytes);
  ~SessionProcess() override;
  SessionProcess(const SessionProcess&) = delete;
  SessionProcess& operator=(const SessionProcess&) = delete;

  // The worker's side of the arrays that travel. Called once, before any operation; the result must
  // outlive the operations.
  std::unique_ptr<Transfers> make_transfers(std::shared_ptr<MemoryAccount> account);

  void run(v1::Request& request, v1::Reply& reply) override;
  void refuse(v1::Request& request, const Error& error, v1::Reply& reply) override;
  void clear() override { end(""); }
  void stop() override { end(""); }
  int64_t num_buffers() const override { return buffers_; }
  int64_t num_executables() const override { return executables_; }

  // Kills the process. `why` becomes the error of the operation under way and of all that follow;
  // "" where nobody asks any more.
  void end(const std::string& why);
  // Kills it if the operation under way began more than `max_seconds` ago.
  void check(double max_seconds);
  // Bytes of memory of its own that the system counts for it; 0 when it has ended.
  int64_t private_bytes() const;
  // Bytes that are counted for what it holds.
  int64_t counted_bytes() const;
  pid_t process() const { return process_; }

  // Recordings of what it does. Do nothing when it has ended, or does not answer within seconds.
  void begin_recording(int64_t events_per_thread);
  int64_t recorded_steps();
  // The bytes of a v1::Recording; "" for none.
  std::string end_recording(int64_t max_bytes);

 private:
  void exchange(v1::SessionRequest& message, v1::Reply& reply);
  // Makes the reply the error of a process that has ended.
  void lose(const std::string& operation, v1::Reply& reply);
  v1::RecordingReply ask(const v1::RecordingRequest& request);

  SessionTemplate& processes_;
  SessionSeat seat_;
  std::shared_ptr<SharedArena> uploads_;
  std::shared_ptr<SharedArena> results_;
  Transfers* transfers_ = nullptr;
  int operations_ = -1;  // sockets
  int recordings_ = -1;
  pid_t process_ = -1;
  std::atomic<int64_t> buffers_ = 0;
  std::atomic<int64_t> executables_ = 0;
  std::atomic<int64_t> began_ = 0;  // nanoseconds: the operation under way; 0: none

  mutable Mutex mutex_;
  bool waited_for_ SYSTOLE_GUARDED_BY(mutex_) = false;  // the process is no more
  std::string why_ SYSTOLE_GUARDED_BY(mutex_);          // it was killed
  int status_ SYSTOLE_GUARDED_BY(mutex_) = 0;           // with which it ended
  Mutex recording_mutex_;
};

}  // namespace systole::worker
