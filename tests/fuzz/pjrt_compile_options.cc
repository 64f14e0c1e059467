// Compile options of the PJRT C API that are accepted must be the same when they are written and
// read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "systole/base/error.h"
#include "systole/pjrt_abi/compile_options.h"

namespace pjrt_abi = systole::pjrt_abi;

namespace {

std::optional<pjrt_abi::CompileOptions> decode(std::string_view bytes) {
  try {
    return pjrt_abi::decode_compile_options(bytes);
  } catch (const systole::Error&) {
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto options = decode({reinterpret_cast<const char*>(data), size});
  if (!options) return 0;
  const auto again = decode(pjrt_abi::encode(*options));
  const bool same = again && again->num_replicas == options->num_replicas &&
                    again->num_partitions == options->num_partitions &&
                    again->use_spmd_partitioning == options->use_spmd_partitioning &&
                    again->portable == options->portable &&
                    again->device_ordinal == options->device_ordinal &&
                    again->device_assignment == options->device_assignment;
  if (!same) std::abort();
  return 0;
}
