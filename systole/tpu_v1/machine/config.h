// The sizes and speeds of a machine. The defaults are TPU v1's.
#pragma once

#include <cstdint>
#include <string_view>

namespace systole::tpu_v1 {

inline constexpr double kGibi = 1024.0 * 1024.0 * 1024.0;

// Sources: Jouppi et al., "In-Datacenter Performance Analysis of a Tensor Processing Unit", ISCA
// 2017.
struct MachineConfig {
  int array = 256;              // the matrix unit has array x array cells; bytes of a row
  int64_t accumulators = 4096;  // rows of `array` 32-bit sums
  int64_t buffer_bytes = int64_t{24} << 20;  // of the Unified Buffer
  int fifo_tiles = 4;                        // weight tiles that wait on chip
  int64_t weight_bytes = int64_t{8} << 30;   // of the weight memory
  double clock_hz = 700e6;
  double weight_bandwidth = 34e9;  // bytes/s, table 2. Figure 1 shows 30 GiB/s.
  double host_bandwidth =
      10 * kGibi;  // bytes/s between host interface and Unified Buffer, figure 1
  // Seconds from the end of a write to the Unified Buffer to the first read that sync_buffer
  // allows. The only free parameter: the paper names a "delay slot" and explicit synchronization,
  // and gives no time. Table 3 counts RAW stalls of 3.3, 8.4, 14.6 and 10.6 % on its four
  // memory-bound programs: 4,000, 3,800, 5,100 and 5,700 cycles for each dependent layer boundary
  // of ours. Their mean is 6.6 us.
  double buffer_sync_seconds = 6.6e-6;

  int64_t buffer_rows() const { return buffer_bytes / array; }
  int64_t tile_bytes() const { return int64_t{array} * array; }
  int64_t weight_tiles() const { return weight_bytes / tile_bytes(); }
  // Cycles to load a weight tile: 1,349 for TPU v1.
  double tile_cycles() const {
    return static_cast<double>(tile_bytes()) / weight_bandwidth * clock_hz;
  }
  // Multiply-adds of a weight byte at which memory and matrix unit are equally fast: 1,349.
  double ridge() const { return static_cast<double>(tile_bytes()) * clock_hz / weight_bandwidth; }
  // Operations a second, two for a multiply-add: 91.75e12.
  double peak_ops() const { return 2.0 * static_cast<double>(tile_bytes()) * clock_hz; }

  // Errors: INVALID_ARGUMENT for a size or speed that no machine can have.
  void check() const;
};

// Returns a named machine: "tpu_v1", "tpu_v1_30gib" (weights at 30 GiB/s), "tpu_v1_gddr5" (the
// paper's TPU', section 7: four channels and faster memory, ridge 250). Errors: NOT_FOUND.
MachineConfig machine_preset(std::string_view name);

}  // namespace systole::tpu_v1
