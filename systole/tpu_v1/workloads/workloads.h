// The six programs of the paper's tables 1 and 3, reconstructed from what it prints ("-R"): not
// Google's shapes.
//
// Every program serves one batch: reads its input from the host, computes, writes its result, and
// stops. It has no weights, only their tiles: it is made to be timed. The same rules
// (builder/layers.h) cut all of them.
#pragma once

#include <span>
#include <string_view>

#include "systole/tpu_v1/isa/program.h"
#include "systole/tpu_v1/machine/config.h"

namespace systole::tpu_v1 {

// The columns of table 3, in percent of cycles, and row 9.
struct PaperCounters {
  double active, useful, unused, weight_stall, weight_shift, non_matrix, raw_stall, input_stall;
  double teraops;
};

struct Workload {
  std::string_view name;         // "MLP0-R"
  std::string_view description;  // the reconstruction
  PaperCounters paper;
  bool held_to_table;  // false: the paper contradicts itself, so no reconstruction can match it
  // Percentage points allowed for row 4: 3, or more where the paper's rows contradict each other.
  double stall_points;
  Program (*program)(const MachineConfig& config);
};

// The six, in the order of table 1.
std::span<const Workload> workloads();
// Errors: NOT_FOUND.
const Workload& workload(std::string_view name);

// Returns a program of `repeats` products of a [batch, inputs] array with an [inputs, outputs]
// matrix.
struct ProductStream {
  int64_t batch = 200;
  int64_t inputs = 600;
  int64_t outputs = 600;
  int64_t repeats = 1;
  int64_t matrix_flags = 0;
};
Program product_stream(const MachineConfig& config, const ProductStream& stream);

}  // namespace systole::tpu_v1
