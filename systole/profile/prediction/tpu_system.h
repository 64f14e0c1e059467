// Cloud TPUs of the second and third generation: what limits a training step on them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace systole::profile {

// One core. Sources: Google's Cloud TPU documentation (cores, memory, peak); Norrie et al.,
// "Google's training chips revealed: TPUv2 and TPUv3", Hot Chips 2020 (clock, matrix units, vector
// unit).
struct TpuGeneration {
  std::string_view name;  // "v2"
  int matrix_units = 1;   // each multiplies 128 x 128 numbers a cycle
  double clock_hz = 0;
  double hbm_bytes_per_second = 0;  // a core's half of the chip's
  int64_t hbm_bytes = 0;            // a core's half
  double vector_ops_per_second = 0;

  // 2 for a multiply-add.
  double peak_flops() const { return 2.0 * 128 * 128 * matrix_units * clock_hz; }
};

// A TPU as Cloud names it: "v2-8" is the second generation with 8 cores.
struct TpuSystem {
  std::string name;
  const TpuGeneration* generation = nullptr;
  int cores = 0;

  // A host has four chips.
  int hosts() const { return cores < 8 ? 1 : cores / 8; }
};

// Errors: INVALID_ARGUMENT unless `name` is v2-N with N = 8, 32, 128, 256, 512 or v3-N with also
// N = 1024 and 2048.
TpuSystem tpu_system(std::string_view name);

// The share of the machine's limits that programs reach, and times that are no arithmetic. All are
// fitted once, to the training half of the measured networks (dense_net.h), and hold for all
// programs and both generations.
struct TpuCalibration {
  double matrix_share = 0.903;              // of the peak of the matrix unit
  double memory_share = 0.676;              // of the bandwidth of the memory
  double op_seconds = 4.87e-6;              // from the end of one fused op to the start of the next
  double step_seconds = 470e-6;             // of a step in a loop on the device, without its ops
  double infeed_seconds = 2.40e-3;          // of a step's transfer from the host, without its bytes
  double infeed_bytes_per_second = 2.91e9;  // of a host
  double all_reduce_bytes_per_second = 32.7e9;  // of a core, in and out together
  double reserved_memory = 1.3e9;               // bytes of a core that programs do not get
};

}  // namespace systole::profile
