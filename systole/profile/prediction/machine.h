// The parts of this machine and its limits, measured by loops that do nothing else.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "systole/base/dtype.h"

namespace systole::profile {

// Returns the model name from the kernel, "AMD EPYC 9B45"; "unknown CPU" if it gives none.
std::string cpu_model();
// Returns the vector extensions of this CPU that Systole uses: "avx2", "avx512f", "avx512_bf16"...
std::vector<std::string> cpu_extensions();
// Returns the number of CPUs that this process may run on.
int num_cores();

// Measures multiply-adds in registers on `threads` threads, in FLOP/s (a multiply-add is 2), as the
// best of several rounds. Takes about 50 ms. Supports f32, f64 and, if the CPU multiplies it, bf16;
// returns nullopt for other types.
std::optional<double> measure_peak_flops(DType dtype, int threads);

// Measures a[i] = b[i] + s * c[i] over arrays of `bytes` each (two read, one written), in bytes per
// second, as the best of several rounds. Source: McCalpin, "Memory bandwidth and machine balance",
// 1995 (STREAM triad).
double measure_triad_bandwidth(int64_t bytes, int threads);

}  // namespace systole::profile
