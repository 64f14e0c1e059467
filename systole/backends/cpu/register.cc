#include "systole/backends/cpu/cpu_backend.h"
#include "systole/runtime/registry.h"

namespace systole::runtime {

void register_cpu_backend() { register_backend("cpu", cpu::make_client); }

}  // namespace systole::runtime
