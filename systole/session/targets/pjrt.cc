#include "systole/base/error.h"
#include "systole/runtime/registry.h"
#include "systole/session/targets/targets.h"

namespace systole {

TargetScheme pjrt_scheme() {
  return {.scheme = "pjrt",
          .forms = "'pjrt:PLUGIN' (the devices of a PJRT plugin)",
          .resolve = [](std::string_view target, std::string_view backend) {
            if (!backend.empty() && backend != target) {
              throw invalid_argument(
                  "Session: backend, got '{}' with target '{}', expected none: the plugin computes",
                  backend, target);
            }
            runtime::Client& client = runtime::client(target);
            const auto devices = client.devices();
            return Target{.name = std::string(target),
                          .client = &client,
                          .environment = {.target = std::string(target),
                                          .is_tpu = true,
                                          .num_hosts = 1,
                                          .num_cores = static_cast<int>(devices.size())},
                          .memory_per_core = devices.front().memory_bytes};
          }};
}

}  // namespace systole
