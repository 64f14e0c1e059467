// Notices processes of an MPI job that are gone while others wait for them.
#pragma once

#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "systole/base/error.h"
#include "systole/base/mutex.h"
#include "systole/runtime/mpi_library.h"

namespace systole::runtime {

// A thread that tells the next rank that this process lives, and listens to the rank before it. A
// process that works slowly is heard of; one that was killed with its host, or stopped, is not.
class MpiHeartbeat {
 public:
  using OnLoss = std::function<void(const Error&)>;

  // All processes of the job construct one together. `on_loss` is called on the thread, at most
  // once, with DEADLINE_EXCEEDED when the rank before this one was not heard of for `timeout`.
  MpiHeartbeat(std::chrono::milliseconds timeout, OnLoss on_loss);
  // Tells the next rank that it need not listen any more.
  ~MpiHeartbeat();

 private:
  void run();
  // Sends a message and takes those that came. Errors: DEADLINE_EXCEEDED for a rank that is gone.
  void beat();

  const MpiJob& job_;
  const MpiFunctions& mpi_;
  const std::chrono::milliseconds timeout_;
  const OnLoss on_loss_;
  void* group_ = nullptr;
  void* beat_ = nullptr;   // a receive of the next message of the rank before
  void* leave_ = nullptr;  // a receive of its last one; null: it has come
  std::vector<void*> sends_;
  std::chrono::steady_clock::time_point heard_;
  Mutex mutex_;  // guards ends_
  CondVar changed_;
  bool ends_ SYSTOLE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace systole::runtime
