// Fully connected networks with measured step rates on Cloud TPUs, as ParaDnn has them (Wang, Wei,
// Brooks, "Benchmarking TPU, GPU, and CPU platforms for deep learning", 2019): what predictions are
// calibrated on and tested against.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/hlo/ir/module.h"
#include "systole/profile/prediction/step_cost.h"

namespace systole::profile {

// `hidden_layers` layers of `nodes` units with ReLU, and one of `output` units; bfloat16 products
// of float32 weights, RMSProp with momentum, labels of `output` float32 numbers.
struct DenseNet {
  int64_t hidden_layers = 0;
  int64_t nodes = 0;
  int64_t input = 0;
  int64_t output = 0;
  int64_t global_batch = 0;
  // Measured. Of a network that did not fit into memory `out_of_memory` is set instead.
  std::optional<double> steps_per_second;
  bool out_of_memory = false;

  bool is_measured() const { return steps_per_second.has_value() || out_of_memory; }
};

// Reads a table with one network a line (measured_table.h). Columns: hidden_layers, nodes, input,
// output, global_batch, and steps_per_second ("OOM" for networks that did not fit, empty for
// unknown), which may be absent; other columns are ignored. `file` is for errors: INVALID_ARGUMENT,
// which name the line.
std::vector<DenseNet> read_dense_nets(std::string_view text, const std::string& file);

// The program of a training step on one of `cores` cores: parameters are the examples, bf16[rows,
// input], their labels, f32[rows, output], and for each weight and bias itself, its mean square and
// its momentum, which results update in place.
std::unique_ptr<hlo::Module> program_of(const DenseNet& net, int cores);

// Returns the cost of a step of that program on one core of the system.
StepCost cost_of(const DenseNet& net, const TpuSystem& system);

// Whether the network is of the half that TpuCalibration is fitted to, by a hash of its sizes.
bool is_of_training_half(const DenseNet& net);

// How predictions compare with measurements.
struct PredictionErrors {
  int count = 0;      // networks with a measured rate
  double median = 0;  // of |predicted / measured - 1|
  double percentile_90 = 0;
  int memory_count = 0;  // networks of which it is known whether they fit
  int memory_right = 0;
};
// `predictions`: one for each net. `of_training_half`: which half is compared.
PredictionErrors prediction_errors(std::span<const DenseNet> nets,
                                   std::span<const StepPrediction> predictions,
                                   bool of_training_half);

}  // namespace systole::profile
