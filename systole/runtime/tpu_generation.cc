#include "systole/runtime/tpu_generation.h"

#include <algorithm>
#include <array>

namespace systole::runtime {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
// 8 sublanes of 128 lanes, two operations a cycle; four since v4.
constexpr double kTwoVectorUnits = 2 * 1024;
constexpr double kFourVectorUnits = 4 * 1024;

constexpr std::array kGenerations = {
    TpuGeneration{.name = "v2",
                  .devices_per_chip = 2,
                  .matrix_units = 1,
                  .clock_hz = 700e6,
                  .hbm_bytes_per_second = 350e9,
                  .memory_bytes = 8'034'172'928,
                  .vector_memory_bytes = 16 * kMiB,
                  .vector_ops_per_cycle = kTwoVectorUnits,
                  .ici_bytes_per_second = 4 * 62e9,
                  .price_per_chip_hour = 1.125},
    TpuGeneration{.name = "v3",
                  .devices_per_chip = 2,
                  .matrix_units = 2,
                  .clock_hz = 940e6,
                  .hbm_bytes_per_second = 450e9,
                  .memory_bytes = 16'624'107'520,
                  .vector_memory_bytes = 16 * kMiB,
                  .vector_ops_per_cycle = kTwoVectorUnits,
                  .ici_bytes_per_second = 4 * 82e9,
                  .price_per_chip_hour = 2.00},
    TpuGeneration{.name = "v4",
                  .matrix_units = 8,
                  .clock_hz = 1050e6,
                  .hbm_bytes_per_second = 1228e9,
                  .memory_bytes = 32'745'971'712,
                  .vector_memory_bytes = 32 * kMiB,
                  .vector_ops_per_cycle = 2 * kFourVectorUnits,
                  .ici_bytes_per_second = 6 * 45e9,
                  .price_per_chip_hour = 3.22},
    TpuGeneration{.name = "v5e",
                  .matrix_units = 4,
                  .clock_hz = 1500e6,
                  .hbm_bytes_per_second = 819e9,
                  .memory_bytes = 16'909'334'528,
                  .vector_memory_bytes = 128 * kMiB,
                  .vector_ops_per_cycle = kFourVectorUnits,
                  .ici_bytes_per_second = 4 * 45e9,
                  .price_per_chip_hour = 1.20},
    TpuGeneration{.name = "v5p",
                  .matrix_units = 8,
                  .clock_hz = 1750e6,
                  .hbm_bytes_per_second = 2765e9,
                  .memory_bytes = 102'803'437'568,
                  .vector_memory_bytes = 256 * kMiB,
                  .vector_ops_per_cycle = 2 * kFourVectorUnits,
                  .ici_bytes_per_second = 6 * 90e9,
                  .price_per_chip_hour = 4.20},
    TpuGeneration{.name = "v6e",
                  .matrix_units = 4,
                  .matrix_size = 256,
                  .clock_hz = 1750e6,
                  .hbm_bytes_per_second = 1640e9,
                  .memory_bytes = 33'550'235'648,
                  .vector_memory_bytes = 128 * kMiB,
                  .vector_ops_per_cycle = kFourVectorUnits,
                  .ici_bytes_per_second = 4 * 90e9,
                  .price_per_chip_hour = 2.70},
    TpuGeneration{.name = "7x",
                  .devices_per_chip = 2,
                  .matrix_units = 4,
                  .matrix_size = 256,
                  .clock_hz = 2200e6,
                  .hbm_bytes_per_second = 3690e9,
                  .memory_bytes = 101'732'839'424,
                  .vector_memory_bytes = 64 * kMiB,
                  .vector_ops_per_cycle = kFourVectorUnits,
                  .ici_bytes_per_second = 6 * 100e9},
};

}  // namespace

std::span<const TpuGeneration> tpu_generations() { return kGenerations; }

const TpuGeneration* find_tpu_generation(std::string_view name) {
  const auto found = std::ranges::find(kGenerations, name, &TpuGeneration::name);
  return found == kGenerations.end() ? nullptr : &*found;
}

}  // namespace systole::runtime
