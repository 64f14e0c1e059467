// A recording that a worker sent: whatever it holds, it is a recording or an error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "systole/base/error.h"
#include "systole/worker/protocol/convert_recording.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    const auto recording = systole::worker::decode_recording(bytes);
    const std::string again = systole::worker::encode_recording(recording, int64_t{1} << 30);
    if (again != systole::worker::encode_recording(systole::worker::decode_recording(again),
                                                   int64_t{1} << 30)) {
      std::abort();
    }
  } catch (const systole::Error& error) {
    if (error.code() != systole::Code::data_loss) std::abort();
  }
  return 0;
}
