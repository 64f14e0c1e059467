#include "systole/backends/pjrt/pjrt_backend.h"
#include "systole/runtime/registry.h"

namespace systole::runtime {

void register_pjrt_backend() {
  const auto options = pjrt::client_options();
  register_backend({.name = "pjrt",
                    .options = {options.begin(), options.end()},
                    .address_option = "plugin",
                    .make = pjrt::make_client});
}

}  // namespace systole::runtime
