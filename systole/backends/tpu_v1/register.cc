#include "systole/backends/tpu_v1/client/tpu_v1_backend.h"
#include "systole/runtime/host_client.h"
#include "systole/runtime/registry.h"

namespace systole::runtime {

void register_tpu_v1_backend() {
  const auto options = host_client_options();
  register_backend(
      {.name = "tpu_v1", .options = {options.begin(), options.end()}, .make = tpu_v1::make_client});
}

}  // namespace systole::runtime
