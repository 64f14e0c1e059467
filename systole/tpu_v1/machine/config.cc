#include "systole/tpu_v1/machine/config.h"

#include <string>
#include <vector>

#include "systole/base/error.h"
#include "systole/base/suggest.h"
#include "systole/tpu_v1/isa/program.h"

namespace systole::tpu_v1 {

void MachineConfig::check() const {
  const auto within = [](std::string_view what, auto value, auto least, auto most) {
    if (!(value >= least && value <= most)) {
      throw invalid_argument("machine: {}, got {}, expected {} to {}", what, value, least, most);
    }
  };
  within("array", array, kMinArray, kMaxArray);
  within("accumulators", accumulators, int64_t{1}, int64_t{65536});
  within("buffer_bytes", buffer_bytes, int64_t{16} * array, (int64_t{1} << 24) * array);
  within("fifo_tiles", fifo_tiles, 1, 1024);
  within("weight_bytes", weight_bytes, tile_bytes(), int64_t{1} << 46);
  within("clock_hz", clock_hz, 1.0, 1e12);
  within("weight_bandwidth", weight_bandwidth, 1.0, 1e18);
  within("host_bandwidth", host_bandwidth, 1.0, 1e18);
  within("buffer_sync_seconds", buffer_sync_seconds, 0.0, 1.0);
}

MachineConfig machine_preset(std::string_view name) {
  if (name == "tpu_v1") return {};
  if (name == "tpu_v1_30gib") return {.weight_bandwidth = 30 * kGibi};
  // The ridge of 250 multiply-adds a byte gives the bandwidth: 65536 * 700e6 / 250.
  if (name == "tpu_v1_gddr5") return {.weight_bandwidth = 65536 * 700e6 / 250};
  const std::vector<std::string> names = {"tpu_v1", "tpu_v1_30gib", "tpu_v1_gddr5"};
  throw not_found("machine: preset, got '{}', expected tpu_v1, tpu_v1_30gib or tpu_v1_gddr5{}",
                  name, did_you_mean(name, names));
}

}  // namespace systole::tpu_v1
