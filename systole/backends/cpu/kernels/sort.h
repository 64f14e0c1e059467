// The kernel of sort.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "systole/backends/cpu/kernels/run_context.h"
#include "systole/base/dtype.h"

namespace systole::cpu {

// A compiled function that the kernel calls with a list of 8-byte words, numbers and pointers:
// - With keys: the element count n, the address for n keys, and for each operand the address of its
// n elements.
// - Without keys: n, width, two lists of n positions, and for each operand the address of its n
// elements. Merges each pair of adjacent runs of `width` sorted positions of the first list into
// the second.
using SortFunction = void (*)(void* frame, const uint64_t* words);

// Elements are ordered by keys of this type, which is not complex. The flags are those of
// SortOrder.
struct SortKeys {
  DType dtype;
  bool total = false;
  bool descending = false;
  int operand = -1;  // its elements are the keys; -1: the function computes them
};

struct SortProblem {
  int64_t outer = 1;           // number of slices before the axis
  int64_t length = 1;          // elements of a slice, with stride `inner`
  int64_t inner = 1;           // number of slices after the axis
  int64_t wanted = 1;          // leading sorted elements to compute, <= length
  int parts = 1;               // parallel tasks, each with its own scratch memory
  std::vector<int64_t> sizes;  // bytes of an element, by operand
  std::optional<SortKeys> keys;

  int64_t scratch_bytes() const;
};

// Buffers: the function (null if elements are the keys), its frame, scratch memory of
// scratch_bytes(), operands, results. Sorting in place is allowed. Stable.
std::unique_ptr<Kernel> make_sort_kernel(SortProblem problem);

}  // namespace systole::cpu
