#include "systole/worker/calls/gate_state.h"

namespace systole::worker {
namespace {

// Each session has a stream; others of it end soon after they were replaced.
constexpr int64_t kStreamsOfASession = 4;
constexpr int64_t kProfiles = 4;

}  // namespace

GateState::GateState(WorkerService& worker, const WorkerOptions& allowed, Connections& all)
    : service(worker),
      options(allowed),
      connections(all),
      session_threads(allowed.limits.max_sessions * kStreamsOfASession),
      profile_threads(kProfiles) {}

}  // namespace systole::worker
