// What this machine can do: names of its parts, and its limits, measured by loops that do nothing
// else.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "systole/base/dtype.h"

namespace systole::profile {

// "AMD EPYC 9B45", from the kernel; "unknown CPU" where it does not say.
std::string cpu_model();
// Vector extensions of this CPU that matter to us: "avx2", "avx512f", "avx512_bf16"...
std::vector<std::string> cpu_extensions();
// CPUs that this process may run on.
int num_cores();

// Multiply-adds in registers on `threads` threads at once, in FLOP/s (a multiply-add is 2). For
// f32, f64 and, where the CPU multiplies it, bf16; nullopt otherwise. Takes about 50 ms; the best
// of several rounds.
std::optional<double> measure_peak_flops(DType dtype, int threads);

// Bytes a second of a[i] = b[i] + s * c[i] over arrays of `bytes` each (two read, one written), the
// best of several rounds. Source: McCalpin, "Memory bandwidth and machine balance", 1995 (STREAM
// triad).
double measure_triad_bandwidth(int64_t bytes, int threads);

}  // namespace systole::profile
