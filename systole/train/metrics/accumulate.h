// Helpers of metrics: sums kept in variables, and conversion of inputs.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "systole/graph/core/composition.h"
#include "systole/graph/core/op_error.h"
#include "systole/train/metrics/metrics.h"

namespace systole::metrics {

// A sum over batches.
struct Sum {
  std::string name;  // of its variable: "total"
  Output addend;     // what this batch adds, of any static shape
};
// Computes a metric from its sums, in their order.
using ValueOf = std::function<Output(const std::vector<Output>& sums)>;
Metric accumulate(const std::vector<Sum>& sums, const ValueOf& value_of);

// numerator / denominator; 0 where the denominator is 0.
Output safe_divide(const Output& numerator, const Output& denominator);

// Returns `weights` times the example mask, broadcast to `values`.
Output weights_of(std::string_view metric, const Output& values, const Input& weights);

struct LabelsAndPredictions {
  Output labels;
  Output predictions;
};
// Converts both to `dtype`, and removes a last dimension of 1 that the other lacks.
LabelsAndPredictions resolve_pair(std::string_view metric, const Input& labels,
                                  const Input& predictions, DType dtype);

}  // namespace systole::metrics
