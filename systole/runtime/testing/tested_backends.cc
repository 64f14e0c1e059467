#include "systole/runtime/testing/tested_backends.h"

#include <cstdlib>

#include "systole/runtime/registry.h"

namespace systole::runtime::testing {

std::vector<std::string> tested_backends() {
  setenv("SYSTOLE_PJRT_PLUGIN", "systole", 0);  // NOLINT(concurrency-mt-unsafe)
  std::vector<std::string> names = backend_names();
  std::erase(names, "tpu_v1");  // it runs quantized networks alone
  return names;
}

}  // namespace systole::runtime::testing
