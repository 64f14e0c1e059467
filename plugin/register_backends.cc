// The backends of the plugin: those whose device is this machine.
#include "systole/runtime/registry.h"

namespace systole::runtime {

void register_cpu_backend();
void register_reference_backend();

void register_backends() {
  register_cpu_backend();
  register_reference_backend();
}

}  // namespace systole::runtime
