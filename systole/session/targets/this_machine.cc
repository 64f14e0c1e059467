#include "systole/runtime/registry.h"
#include "systole/session/targets/targets.h"

namespace systole {

TargetScheme this_machine_scheme() {
  return {.scheme = "",
          .forms = "'' (this machine)",
          .resolve = [](std::string_view, std::string_view backend) {
            return Target{.name = "",
                          .client = &runtime::client(backend.empty() ? "cpu" : backend)};
          }};
}

}  // namespace systole
