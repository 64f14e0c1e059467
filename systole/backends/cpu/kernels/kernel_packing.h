// Packs a convolution's kernel in the order in which blocks of output features read it.
#pragma once

#include "systole/backends/cpu/kernels/direct_sizes.h"
#include "systole/backends/cpu/kernels/run_context.h"

namespace systole::cpu {

// Packs to [block][row][column][feature][`lanes` output features]. The kernel may have any order of
// axes and may be mirrored, as the sizes say. REQUIRES: `lanes` is a multiple of 16 that divides
// the number of output features.
class KernelPacking {
 public:
  KernelPacking(const DirectSizes& sizes, int64_t lanes) : s_(sizes), lanes_(lanes) {}

  int64_t elements() const { return window() * s_.features * s_.out_features; }
  // Uses all threads of the program.
  void pack(const float* kernel, float* packed, const RunContext& context) const;

 private:
  int64_t window() const { return s_.kernel_height * s_.kernel_width; }
  // The first element at `place`, a row-major position in the window.
  const float* place_in(const float* kernel, int64_t place) const;
  int64_t block_elements() const { return window() * s_.features * lanes_; }

  void pack_features(const float* from, int64_t begin, float* to) const;
  void pack_block(const float* from, float* to) const;
  void pack_elements(const float* from, int64_t begin, float* to) const;

  DirectSizes s_;
  int64_t lanes_;
};

}  // namespace systole::cpu
