#include "systole/backends/reference/reference_backend.h"
#include "systole/runtime/registry.h"

namespace systole::runtime {

void register_reference_backend() { register_backend("reference", reference::make_client); }

}  // namespace systole::runtime
