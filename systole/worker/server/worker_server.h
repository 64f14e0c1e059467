// A worker: owns devices, and compiles and runs what programs on other machines send.
#pragma once

#include <memory>
#include <string>

#include "systole/runtime/client.h"
#include "systole/worker/worker_options.h"

namespace systole::worker {

// Serves from construction to destruction, on threads of its own. Thread-safe.
class WorkerServer {
 public:
  // `device` must outlive it. Errors: INVALID_ARGUMENT for an address that is none, for one that
  // other machines can reach without TLS and token, and for limits out of range; UNAVAILABLE for
  // an address that is in use; NOT_FOUND for files that do not exist; those of the state folder.
  WorkerServer(runtime::Client& device, WorkerOptions options);
  ~WorkerServer();  // shuts down at once
  WorkerServer(const WorkerServer&) = delete;
  WorkerServer& operator=(const WorkerServer&) = delete;

  // "127.0.0.1:8470", with the port that was chosen.
  const std::string& address() const;
  // How the last worker of the state folder ended, if it died.
  const std::string& note() const;
  // Preempts: refuses new sessions, tells the programs to save their work and to go, and returns
  // when all have left, or after `grace_seconds`. The health service says NOT_SERVING.
  void preempt(const std::string& why, double grace_seconds);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace systole::worker
