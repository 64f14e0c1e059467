// Random programs on quantized types, to compare two ways of running the same program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "systole/base/tensor.h"

namespace systole::hlo::testing {

struct QuantizedProgram {
  std::string text;  // main takes one f32 tensor and returns tensors of integers and of f32
  std::vector<Tensor> arguments;
};

// Deterministic in `seed`. The programs contain every op on quantized types that the cpu backend
// computes exactly as the reference does: products and convolutions, per tensor and per axis, bias
// additions, requantization with all three roundings, elementwise ops, moves, pooling.
QuantizedProgram random_quantized_program(uint64_t seed);

}  // namespace systole::hlo::testing
