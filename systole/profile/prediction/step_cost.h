// Predicts the time of a training step on a TPU from the work of its operations.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "systole/hlo/semantics/cost.h"
#include "systole/profile/prediction/tpu_system.h"

namespace systole::profile {

// The work of one execution of a kernel, or of a fused operation, on one core.
struct OpCost {
  std::string name;
  std::optional<hlo::ProductSize> product;  // on the matrix units
  bool is_convolution = false;              // its positions pass through, in no other orientation
  double flops = 0;                         // useful ones of products and convolutions
  double vector_ops = 0;                    // of the vector unit, with padding
  double memory_bytes = 0;                  // read and written, with padding
  double array_bytes = 0;                   // the same without padding
  std::vector<double> arrays = {};          // of memory_bytes, each array's; none: not known
  bool only_writes = false;                 // reads no array
  double copied_bytes = 0;                  // of tables that lie across
  std::vector<double> updated = {};         // parameters that a gradient's product updates
  double times = 1;                         // executions in a step

  // Cycles of one matrix unit that holds matrix_size^2 numbers, at its peak. Without a product,
  // those of `flops`.
  double matrix_cycles(int64_t matrix_size) const;
};

// The work of one step on one core.
struct StepCost {
  std::vector<OpCost> ops;
  double all_reduce_bytes = 0;  // what the core gives to sums over all cores
  double all_reduces = 0;       // such sums: arrays
  double link_bytes = 0;        // that the core gets or gives in gathers and scatters
  double infeed_bytes = 0;      // of the core's part of the batch
  double resident_bytes = 0;    // memory of the core; 0: unknown
};

struct PredictedOp {
  OpCost cost;
  double seconds = 0;  // of all executions
  std::string limit;   // "matrix unit", "vector unit", "memory" or "overhead"
};

// Where the time of a step goes, in seconds. Transfers from the host overlap with the work of the
// device; so do, since v4, transfers between cores with kernels. All else is one after another:
//   step_seconds = max(infeed_seconds, device_seconds)
//   device_seconds = compute_seconds + overhead_seconds + all_reduce_seconds, since v4
//                    max(compute_seconds + overhead_seconds, all_reduce_seconds)
struct StepPrediction {
  double compute_seconds = 0;
  double all_reduce_seconds = 0;  // of sums, gathers and scatters over cores
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
  // `peak_flops` is that of `unit`, in FLOP/s. `overlap`: of transfers between cores and kernels.
  void add_up(double peak_flops, bool overlap = false);
  bool fits() const { return memory_bytes <= memory_limit; }
  // The `count` operations that take the most time. Pointers into `ops`.
  std::vector<const PredictedOp*> longest_ops(size_t count) const;
  // A table: the parts of the step, and the `count` operations that take the most time.
  std::string to_string(size_t count = 10) const;
  // The same for `systole board`: a page whose figures are in seconds and bytes.
  nlohmann::json to_json(const std::string& system, size_t count = 100) const;
};

// Returns a prediction with its ops, their time and overhead, and its memory. `time_of` gives the
// time of one execution of an op, which costs op_seconds more; a step costs step_seconds.
StepPrediction predict_ops(const StepCost& step,
                           const std::function<PredictedOp(const OpCost&)>& time_of,
                           double op_seconds, double step_seconds);

// Formulas. A kernel takes the longest of
//   matrix_cycles / (clock * matrix_units * matrix_share),
//   vector_ops / vector_ops_per_second,
//   memory_bytes / (hbm_bytes_per_second * memory_share), of arrays that are not kept on the chip,
// and op_cycles more. A sum over n cores moves 2 (n - 1) / n of its bytes, a gather or scatter what
// a core has not before.
StepPrediction predict(const StepCost& step, const TpuSystem& system);

// Cycles of one matrix unit for a product [m, k] x [k, n]: 8 rows of the first operand pass through
// matrix_size^2 numbers of the other in 8 cycles.
double product_cycles(int64_t m, int64_t k, int64_t n, int64_t matrix_size = 128);

}  // namespace systole::profile
