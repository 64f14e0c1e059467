// Every call comes through here first.
#pragma once

#include <grpcpp/generic/async_generic_service.h>

#include <chrono>

#include "systole/worker/calls/gate_state.h"

namespace systole::worker {

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
