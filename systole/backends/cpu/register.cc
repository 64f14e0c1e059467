#include "systole/backends/cpu/cpu_backend.h"
#include "systole/runtime/host_client.h"
#include "systole/runtime/registry.h"

namespace systole::runtime {

void register_cpu_backend() {
  const auto options = host_client_options();
  register_backend({.name = "cpu",
                    .options = {options.begin(), options.end()},
                    .make = [](const ClientOptions& given) { return cpu::make_client(given); }});
}

}  // namespace systole::runtime
