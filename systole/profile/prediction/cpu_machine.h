// The limits of this CPU, and the time of a training step on it.
#pragma once

#include <string>

#include "systole/base/file_system.h"
#include "systole/profile/prediction/step_cost.h"

namespace systole::profile {

// All rates are of all cores together.
struct CpuMachine {
  std::string name;
  int cores = 0;
  double flops_per_second = 0;         // f32 multiply-adds in registers, 2 each
  double cache_bytes_per_second = 0;   // arrays that fit into the caches of the cores
  double memory_bytes_per_second = 0;  // larger ones
};

// What the measurements of CpuMachine do not tell. The shares are those that the kernels of the cpu
// backend reach (docs/prediction.md).
struct CpuCalibration {
  double product_share = 0.80;   // of the peak, by products and convolutions
  double memory_share = 0.80;    // of the bandwidth
  double cache_bytes = 1 << 20;  // of a core: an op of so many bytes reads and writes caches
  double vector_ops = 0.5;       // of a peak FLOP: an element-wise op is not a multiply-add
  double op_seconds = 0.4e-6;    // from the end of one fused op to the start of the next
  double step_seconds = 0.5e-6;  // of a step in a loop, without its ops
};

// Measures this machine on all its cores. Takes about a second.
CpuMachine measure_cpu_machine();

// The file in which cpu_machine() keeps the measurement; "" where there is no cache folder.
std::string cpu_machine_path();
// Writes the measurement. Errors: those of the file system.
void save_cpu_machine(const CpuMachine& machine, FileSystem& files, const std::string& path);
// Reads a measurement. Errors: NOT_FOUND; INVALID_ARGUMENT naming the file and the field.
CpuMachine load_cpu_machine(FileSystem& files, const std::string& path);

// The measurement in cpu_machine_path(), if it is of this CPU and so many cores, else a new one.
// `systole machine` keeps one there, made while the machine was quiet.
CpuMachine cpu_machine();

// Predicts a step of one replica on all cores of `machine`. An op takes the longest of
//   flops / (flops_per_second * product_share),
//   vector_ops / (flops_per_second * vector_ops),
//   array_bytes / (bytes per second of cache or memory * memory_share),
// and op_seconds more. Nothing overlaps: step_seconds is the sum, and infeed_seconds is 0. The
// memory is not limited.
StepPrediction predict(const StepCost& step, const CpuMachine& machine,
                       const CpuCalibration& calibration = {});

}  // namespace systole::profile
