// The arithmetic of the activation unit: functions and pooling.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "systole/tpu_v1/isa/instruction.h"

namespace systole::tpu_v1 {

// The fixed scales of sigmoid and tanh. Their input is a 16-bit integer in units of 2^-12. Results
// of 16 bits are in units of 2^-15. Results of 8 bits: sigmoid in units of 1/256 with zero point
// -128 (unsigned: 0), tanh in units of 1/128 with zero point 0. Every result is the nearest integer
// to the function's value in f32, ties to even, or the largest one of the type: what StableHLO's
// logistic, tanh and uniform_quantize give.
inline constexpr int kFunctionInputBits = 12;

// Returns the result of the function that `flags` name (sigmoid or tanh) for an input that
// saturates at 16 bits.
int32_t hardwired_function(int64_t flags, int32_t input);

// Returns the least and the greatest result for the type that `flags` name.
struct Bounds {
  int32_t least;
  int32_t most;
};
Bounds result_bounds(int64_t flags);

// Applies the function of `flags` to a requantized value, then the zero point and bounds of the
// registers.
int32_t finish_value(int32_t value, int64_t flags, const Registers& registers);

// Pools rows of `columns` values as `flags` and the pool registers say. An average is rounded to
// the nearest integer, ties away from zero, over the positions inside the image. Errors:
// INVALID_ARGUMENT for a window without such a position. Uses all cores. REQUIRES: values has
// pool_images * pool_height * pool_width rows; columns from `used` on are equal in all rows.
std::vector<int32_t> pool_rows(std::span<const int32_t> values, int64_t columns, int64_t used,
                               int64_t flags, const Registers& registers);

}  // namespace systole::tpu_v1
