// Products of StableHLO as layers: weights in the order of the machine's tiles.
#pragma once

#include "systole/base/tensor.h"
#include "systole/hlo/ir/module.h"
#include "systole/tpu_v1/compiler/network.h"

namespace systole::tpu_v1 {

// Throws UNIMPLEMENTED: the machine has no instruction for an op, because of `what`.
[[noreturn]] void no_instruction(const hlo::Instruction& op, const std::string& what);

// A product whose sums are not yet requantized.
struct Sums {
  ProductLayer product;
  int64_t height = 1;
  int64_t width = 1;
  int64_t filters = 1;
};

// Returns the sums of dot_general and convolution on an input array, which `view` describes: the
// sizes of a dot's operand may be those of the array joined to one. `weights` are the integers of
// the second operand. The zero point of the input is folded into the biases.
Sums sums_of_dot(const hlo::Instruction& dot, int input, const NetworkArray& array,
                 const Tensor& weights);
Sums sums_of_convolution(const hlo::Instruction& convolution, int input, const NetworkArray& array,
                         const Tensor& weights);

// Returns the columns [first, first + count) of sums.
Sums columns_of(const Sums& sums, int64_t first, int64_t count);

// Returns the sums of an array's channels [first, first + count), each alone, at columns that begin
// with `column` of `filters`: a copy by the matrix unit.
ProductInput selected_channels(int input, const NetworkArray& array, int64_t first, int64_t count,
                               int64_t column, int64_t filters);

}  // namespace systole::tpu_v1
