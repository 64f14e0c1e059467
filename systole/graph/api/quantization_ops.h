// Quantization-aware training: values rounded as 8-bit integers would round them, with gradients
// that pass through. (tf.quantization)
//
// The range is nudged so that 0 is one of the 2^num_bits values. Errors are INVALID_ARGUMENT with
// the op, the node and the user's line.
#pragma once

#include <cstdint>
#include <string>

#include "systole/graph/core/graph.h"

namespace systole::quantization {

struct FakeQuantOptions {
  int64_t num_bits = 8;       // 2 to 16
  bool narrow_range = false;  // leaves out the least integer, as symmetric weights do
  std::string name = {};
};
struct FakeQuantArgsOptions {
  double min = -6;
  double max = 6;
  int64_t num_bits = 8;
  bool narrow_range = false;
  std::string name = {};
};

// Clamps f32 inputs to [min, max] and rounds them to the nearest of 2^num_bits values, evenly
// spaced over the range (2^num_bits - 1 values with narrow_range). The gradient is the
// output's inside of the range and 0 outside.
Output fake_quant_with_min_max_args(const Input& inputs, const FakeQuantArgsOptions& options = {});
Output fake_quant_with_min_max_args_gradient(const Input& gradients, const Input& inputs,
                                             const FakeQuantArgsOptions& options = {});

// The same with the range in scalars, usually variables. The output is 0 if both are 0. The
// gradients of inputs outside of the range are added to that of `min` or `max`.
Output fake_quant_with_min_max_vars(const Input& inputs, const Input& min, const Input& max,
                                    const FakeQuantOptions& options = {});
struct FakeQuantGradients {
  Output inputs;
  Output min;
  Output max;
};
FakeQuantGradients fake_quant_with_min_max_vars_gradient(const Input& gradients,
                                                         const Input& inputs, const Input& min,
                                                         const Input& max,
                                                         const FakeQuantOptions& options = {});

// The same with one range per index of the last dimension: `min` and `max` are vectors.
Output fake_quant_with_min_max_vars_per_channel(const Input& inputs, const Input& min,
                                                const Input& max,
                                                const FakeQuantOptions& options = {});
FakeQuantGradients fake_quant_with_min_max_vars_per_channel_gradient(
    const Input& gradients, const Input& inputs, const Input& min, const Input& max,
    const FakeQuantOptions& options = {});

}  // namespace systole::quantization
