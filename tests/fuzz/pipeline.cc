// A pipeline in YAML becomes a data set, or is refused; nothing of it runs.
#include <cstddef>
#include <cstdint>
#include <string>

#include "apps/systole/data/pipeline_spec.h"
#include "systole/base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const std::string yaml(reinterpret_cast<const char*>(data), size);
    (void)systole::app::parse_pipeline(yaml).dataset.to_string();
  } catch (const systole::Error&) {  // NOLINT(bugprone-empty-catch): refused, as it may be
  }
  return 0;
}
