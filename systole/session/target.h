// Session targets: which device system a session talks to.
#pragma once

#include <string>
#include <string_view>

#include "systole/graph/op_def.h"
#include "systole/runtime/client.h"

namespace systole {

// What a target string resolved to.
struct Target {
  std::string name;         // as given
  runtime::Client* client;  // lives until exit
  HostEnvironment environment;
  int64_t memory_per_core = 0;  // bytes; 0: no limit of its own
};

// "" is this machine's CPU; a virtual TPU of as many cores as it says, of which a plain graph uses
// one, is "local" (8 cores with 8 GiB each), "local:v3-8" (with 16 GiB) or "local:N" (N cores of
// 8 GiB); "grpc://host:port" a worker. `backend` replaces the backend of "" and
// "local" when not empty. Errors: INVALID_ARGUMENT for anything else; UNAVAILABLE for a worker that
// is not there; NOT_FOUND for a backend.
Target resolve_target(std::string_view target, std::string_view backend);

}  // namespace systole
