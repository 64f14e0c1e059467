#include "systole/backends/remote/remote_backend.h"
#include "systole/runtime/registry.h"

namespace systole::runtime {

void register_remote_backend() {
  const auto options = remote::client_options();
  register_backend(
      {.name = "remote", .options = {options.begin(), options.end()}, .make = remote::make_client});
}

}  // namespace systole::runtime
