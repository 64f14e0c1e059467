// Every call comes through here first.
#pragma once

#include <grpcpp/generic/async_generic_service.h>

#include <string>
#include <string_view>

#include "systole/worker/calls/call.h"
#include "systole/worker/calls/health_call.h"
#include "systole/worker/calls/session_streams.h"
#include "systole/worker/calls/task_thread.h"
#include "systole/worker/network/connections.h"
#include "systole/worker/service.h"
#include "systole/worker/worker_options.h"

namespace systole::worker {

// What the calls of a worker share.
struct GateState {
  GateState(WorkerService& service, const WorkerOptions& options, Connections& connections);

  WorkerService& service;
  const WorkerOptions& options;
  Connections& connections;
  HealthState health;
  CallList calls;
  SessionStreamTable streams;
  ThreadCount session_threads;
  ThreadCount profile_threads;
  TaskThread hello_thread;
  TaskThread close_thread;
};

// Looks at the headers of a call: one without the token, or of an unknown method, is refused before
// a message of it is read. Calls of the health service need no token, and no message is read.
class Gate final : public grpc::CallbackGenericService {
 public:
  // All must outlive it.
  Gate(WorkerService& service, const WorkerOptions& options, Connections& connections)
      : state_(service, options, connections) {}

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override;

  // Ends calls that are late.
  void check(std::chrono::steady_clock::time_point now) { state_.calls.check(now); }
  // What the health service says.
  void set_serving(bool serving) { state_.health.set_serving(serving); }

 private:
  // Errors: UNAUTHENTICATED.
  void check_token(const grpc::ServerContextBase& context) const;

  GateState state_;
};

}  // namespace systole::worker
