#include "systole/backends/reference/reference_backend.h"
#include "systole/runtime/host_client.h"
#include "systole/runtime/registry.h"

namespace systole::runtime {

void register_reference_backend() {
  const auto options = host_client_options();
  register_backend({.name = "reference",
                    .options = {options.begin(), options.end()},
                    .make = reference::make_client});
}

}  // namespace systole::runtime
