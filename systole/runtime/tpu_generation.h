// The generations of Cloud TPUs: what limits a program on one device of each.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace systole::runtime {

// One device, as programs see it: a core of v2, v3 and 7x; a chip of the others, whose cores work
// as one. Sources: Google's Cloud TPU documentation (chips, memory, bandwidth, peak; prices of an
// hour in us regions, on demand); Norrie et al., "Google's training chips revealed: TPUv2 and
// TPUv3", Hot Chips 2020 (clock, matrix units, vector unit of v2 and v3); Jouppi et al., "TPU v4",
// ISCA 2023 (clock of v4); "How to Scale Your Model", 2025 (matrix units and links of v5e, v5p,
// v6e). The clocks of v5e, v5p, v6e and 7x are the peak over the size of the matrix units.
// `memory_bytes` is what libtpu 0.0.42.1 gives as the limit of each.
struct TpuGeneration {
  std::string_view name;  // "v2"
  int devices_per_chip = 1;
  int chips_per_host = 4;
  int matrix_units = 1;
  int64_t matrix_size = 128;  // each multiplies matrix_size^2 numbers a cycle
  double clock_hz = 0;
  double hbm_bytes_per_second = 0;
  int64_t memory_bytes = 0;         // of the device, that programs get
  int64_t vector_memory_bytes = 0;  // on the chip, beside it
  double vector_ops_per_cycle = 0;
  double ici_bytes_per_second = 0;  // of all links of a chip, in one direction
  double price_per_chip_hour = 0;   // US dollars; 0: not published

  // 2 for a multiply-add of bfloat16.
  double peak_flops() const {
    return 2.0 * static_cast<double>(matrix_size * matrix_size) * matrix_units * clock_hz;
  }
  double vector_ops_per_second() const { return vector_ops_per_cycle * clock_hz; }
};

// In the order of their years.
std::span<const TpuGeneration> tpu_generations();
// Returns nullptr for an unknown name.
const TpuGeneration* find_tpu_generation(std::string_view name);

}  // namespace systole::runtime
