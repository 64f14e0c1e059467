// The work of an instruction, whatever runs it: operations and bytes, as XLA's HloCostAnalysis
// counts them.
#pragma once

#include <optional>

#include "systole/hlo/ir/module.h"

namespace systole::hlo {

struct Cost {
  double flops = 0;            // a multiply-add is 2; without transcendental functions
  double product_flops = 0;    // of them, those of products and convolutions
  double transcendentals = 0;  // elements of such functions
  double bytes_in = 0;
  double bytes_out = 0;

  double operations() const { return flops + transcendentals; }
  double bytes() const { return bytes_in + bytes_out; }
};

// Returns the bytes that an array takes.
using BytesOf = double (*)(const TensorType& type);
// Without padding; 0 for a dynamic shape.
double array_bytes(const TensorType& type);

// Counts what the results need:
//   - Convolutions: the kernel elements that meet an element of the input, not padding and not the
//     holes of a dilation.
//   - Reductions: one call of the region less than there are elements for each result; windows
//     alike.
//   - Fusions: the operations of all instructions, the bytes of operands and results.
//   - Control flow: the operations of each region once, no bytes.
//   - Custom calls: the FLOPs and transcendentals of the "cost_estimate" in their settings, as
//     Pallas kernels have it; FLOPs are taken for those of products.
// Bytes are those of distinct operands and of results. Slices and gathers read, and updates write,
// the selected elements only. What needs no code, such as a reshape, costs nothing.
Cost cost_of(const Instruction& instruction, BytesOf bytes_of = array_bytes);

// The sum over the computation's instructions.
Cost cost_of(const Computation& computation);

// A dot_general or convolution as `count` products [rows, inner] x [inner, columns]. In a
// convolution, inner are the kernel positions and input features; of a dilated input one position
// in `dilation` meets an element.
struct ProductSize {
  int64_t count = 1;
  int64_t rows = 0;
  int64_t inner = 0;
  int64_t columns = 0;
  int64_t dilation = 1;
};
// Returns nullopt for other opcodes.
std::optional<ProductSize> product_size(const Instruction& instruction);

}  // namespace systole::hlo
