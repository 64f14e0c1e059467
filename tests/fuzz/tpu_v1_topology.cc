// A topology that loads must have cycles.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "systole/base/error.h"
#include "systole/tpu_v1/scalesim/topology.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const std::string text(reinterpret_cast<const char*>(data), size);
    for (const auto& layer : systole::tpu_v1::parse_topology(text, "t").layers) {
      if (systole::tpu_v1::scalesim_cycles(layer, 256, 256) <= 0) std::abort();
    }
  } catch (const systole::Error&) {  // NOLINT(bugprone-empty-catch): refused
  }
  return 0;
}
