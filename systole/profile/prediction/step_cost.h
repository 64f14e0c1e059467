// Predicts the time of a training step on a TPU from the work of its operations.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "systole/profile/prediction/tpu_system.h"

namespace systole::profile {

// The work of one fused operation on one core.
struct OpCost {
  std::string name;
  double matrix_cycles = 0;  // of one matrix unit at its peak, padded to its 8 x 128 x 128
  double flops = 0;          // useful ones of products and convolutions
  double vector_ops = 0;     // of the vector unit, with padding
  double memory_bytes = 0;   // read and written, with padding
  double array_bytes = 0;    // the same without padding
};

// The work of one step on one core.
struct StepCost {
  std::vector<OpCost> ops;
  double all_reduce_bytes = 0;  // what the core gives to sums over all cores
  double infeed_bytes = 0;      // of the core's part of the batch
  double resident_bytes = 0;    // memory of the core; 0: unknown
};

struct PredictedOp {
  OpCost cost;
  double seconds = 0;
  std::string limit;  // "matrix unit", "vector unit", "memory" or "overhead"
};

// Where the time of a step goes, in seconds. Transfers from the host overlap with the work of the
// device; all else is one after another:
//   step_seconds = max(infeed_seconds, device_seconds)
//   device_seconds = compute_seconds + all_reduce_seconds + overhead_seconds
struct StepPrediction {
  double compute_seconds = 0;
  double all_reduce_seconds = 0;
  double overhead_seconds = 0;
  double infeed_seconds = 0;
  double device_seconds = 0;
  double step_seconds = 0;
  double matrix_share = 0;  // useful FLOP/s of the step over the peak of `unit`
  std::string unit = "matrix unit";
  std::string limit;             // what takes the most time: "infeed", "matrix unit", "memory", ...
  double memory_bytes = 0;       // StepCost::resident_bytes
  double memory_limit = 0;       // that programs get on a core
  std::vector<PredictedOp> ops;  // in program order

  // Computes device_seconds, step_seconds, matrix_share and limit from the other fields.
  // `peak_flops` is that of `unit`, in FLOP/s.
  void add_up(double peak_flops);
  bool fits() const { return memory_bytes <= memory_limit; }
  // The `count` operations that take the most time. Pointers into `ops`.
  std::vector<const PredictedOp*> longest_ops(size_t count) const;
  // A table: the parts of the step, and the `count` operations that take the most time.
  std::string to_string(size_t count = 10) const;
  // The same for `systole board`: a page whose figures are in seconds and bytes.
  nlohmann::json to_json(const std::string& system, size_t count = 100) const;
};

// Returns a prediction with its ops, their time and overhead, and its memory. `time_of` gives the
// time of an op; an op costs op_seconds more, a step step_seconds.
StepPrediction predict_ops(const StepCost& step,
                           const std::function<PredictedOp(const OpCost&)>& time_of,
                           double op_seconds, double step_seconds);

// Formulas. A fused operation takes the longest of
//   matrix_cycles / (clock * matrix_units * matrix_share),
//   vector_ops / vector_ops_per_second,
//   memory_bytes / (hbm_bytes_per_second * memory_share),
// and op_seconds more. A sum over n cores moves 2 (n - 1) / n of its bytes.
StepPrediction predict(const StepCost& step, const TpuSystem& system,
                       const TpuCalibration& calibration = {});

// Cycles of one matrix unit for a product [m, k] x [k, n], in the better of both orientations: 8
// rows of one operand pass through 128 x 128 numbers of the other in 8 cycles.
double product_cycles(int64_t m, int64_t k, int64_t n);

}  // namespace systole::profile
