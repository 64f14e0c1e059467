// sort's kernel.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "systole/backends/cpu/kernels/run_context.h"
#include "systole/base/dtype.h"

namespace systole::cpu {

// A function of compiled code that the kernel calls with a list of 8-byte words: numbers and
// pointers.
//  - With keys: number of elements n, where n keys go, for each operand where its n elements lie.
//  - Else: n, width, two lists of n positions, for each operand where its n elements lie. Merges
//    each two neighbouring runs of `width` sorted positions of the first list into the second.
using SortFunction = void (*)(void* frame, const uint64_t* words);

// Elements are ordered by keys of this type, not complex; SortOrder has the meaning of the flags.
struct SortKeys {
  DType dtype;
  bool total = false;
  bool descending = false;
  int operand = -1;  // whose elements are the keys; -1: the function computes them
};

struct SortProblem {
  int64_t outer = 1;           // slices before the axis,
  int64_t length = 1;          // their elements, which are `inner` apart,
  int64_t inner = 1;           // and slices behind it
  int64_t wanted = 1;          // how many of a slice's sorted elements are computed, <= length
  int parts = 1;               // that may run at once, each with scratch memory of its own
  std::vector<int64_t> sizes;  // bytes of an element, by operand
  std::optional<SortKeys> keys;

  int64_t scratch_bytes() const;
};

// Buffers: the function (null with keys that are elements), its frame, scratch_bytes() of memory,
// the operands, the results. An operand may be its own result. Always stable.
std::unique_ptr<Kernel> make_sort_kernel(SortProblem problem);

}  // namespace systole::cpu
