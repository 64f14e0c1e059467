// Slices of Cloud TPUs, by the names under which they are rented, and what was fitted of their
// speed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "systole/runtime/tpu_generation.h"

namespace systole::profile {

// "v2-8" is the second generation with 8 cores on 4 chips.
struct TpuSystem {
  std::string name;
  const runtime::TpuGeneration* generation = nullptr;
  int chips = 0;
  int cores = 0;  // devices that a program sees: cores of v2, v3 and 7x, chips of the others
  int axes = 2;   // of the torus

  int hosts() const { return chips / generation->chips_per_host; }
  // US dollars; 0: not published.
  double price_per_hour() const { return generation->price_per_chip_hour * chips; }
};

// Maps v2-8 ... v2-512, v3-8 ... v3-2048, v4-8, v5e-4, v5p-8, v6e-8, tpu7x-8 and so on. The number
// counts what that of Google's name counts: cores of v2, v3, v4, v5p and tpu7x, chips of v5e and
// v6e. Errors: INVALID_ARGUMENT with the names of the generation, also for a number that does not
// divide into hosts.
TpuSystem tpu_system(std::string_view name);

// "v2-8", "v3-8"..., one of each generation.
std::vector<std::string_view> examples_of_tpu_systems();

// The share of a machine's limits that programs reach, and times that are no arithmetic. The first
// five are fitted to the cycles that Google's compiler estimates (tests/libtpu), of all
// generations. The others are fitted to the training half of the measured networks (dense_net.h),
// of v2.
struct TpuCalibration {
  double matrix_share = 0.93;       // of the peak of the matrix units
  double memory_share = 0.80;       // of the bandwidth of the memory
  double op_cycles = 500;           // from the end of one kernel to the start of the next
  double kept_on_chip = 0;          // bytes: smaller arrays stay there, or come while others work
  double fill_bytes_per_cycle = 0;  // of a kernel that reads nothing; 0: as of others
  // Bytes a cycle of weights that are turned for the product that updates them; 0: they are not.
  double turned_bytes_per_cycle = 0;
  bool copies_tables = true;                // whose rows lie across, to gather or scatter them
  double step_seconds = 385e-6;             // of a step in a loop on the device, without its ops
  double infeed_seconds = 2.317e-3;         // of a step's transfer from the host without its bytes
  double infeed_bytes_per_second = 2.91e9;  // of a host
  double all_reduce_bytes_per_second = 29.2e9;  // of a core, in and out together
  double all_reduce_seconds = 13.75e-6;         // of one sum without its bytes
  bool sums_overlap = false;                    // with kernels
};

// v3 takes what was measured of v2. Of later generations nobody measured the hosts: they have none
// of the times of a transfer or a step, and their links carry sums at their rate, while kernels
// run.
TpuCalibration calibration_of(const runtime::TpuGeneration& generation);

}  // namespace systole::profile
