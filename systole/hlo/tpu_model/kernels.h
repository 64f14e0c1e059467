// The kernels that the compiler of a TPU makes of a program: what is computed together, and the
// arrays that it reads and writes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "systole/hlo/ir/module.h"
#include "systole/hlo/semantics/cost.h"

namespace systole::hlo {

// An array in memory.
struct KernelArray {
  Value value;
  // That of the value; bf16 for a f32 array that only products read, which would round it.
  TensorType type;
  // What tiles cover, and how often: all of an array, or, of what has the shape of an operand or
  // result of a convolution, its batch and features at each position.
  TensorType tiled;
  double positions = 1;

  double bytes(BytesOf bytes_of) const { return positions * bytes_of(tiled); }
};

struct Kernel {
  const Instruction* root = nullptr;         // what the kernel is made around
  std::vector<const Instruction*> computed;  // without values that are computed where they are read
  std::vector<KernelArray> reads;            // of other kernels, parameters and slices
  std::vector<KernelArray> writes;           // what others read, and results
  std::vector<KernelArray> scratch;          // that it makes for itself, one after another
  std::vector<KernelArray> copies;           // of tables that lie across; like scratch, up to v3
  Cost cost;                                 // operations; no bytes
  std::optional<ProductSize> product;        // of the root
  const Computation* loop = nullptr;         // body, for a loop
  int64_t trips = 1;                         // of the loop, 1 if that is unknown
  std::vector<const Computation*> branches;  // of a condition
};

// The kernels of a computation that is optimized and not fused, in program order.
//   - A value that is element-wise, or that moves elements for one reader, is computed where it is
//     read; for several readers it is kept if it needs several arrays of its size.
//   - A kept one, and a reduction, joins the kernel that computes the last of what it reads, if
//   that
//     works on arrays of the same size.
//   - Slices are read in place. Updates are written in place.
//   - A gather makes an array of what it reads from, if that is computed where it is read, unless
//     the kernel before can write that instead.
//   - A table of rows shorter than the lanes lies across: one lane for each row. A gather or
//   scatter
//     of many rows works on a copy that lies along.
std::vector<Kernel> make_kernels(const Computation& computation);

// Returns whose memory the value uses: the operand of a reshape, slice, barrier, loop or update
// stands for the result.
Value memory_of(Value value);

}  // namespace systole::hlo
