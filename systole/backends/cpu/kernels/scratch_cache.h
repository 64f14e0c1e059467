// Scratch memory of kernels, kept between their runs.
#pragma once

#include <memory>

#include "systole/base/tensor.h"

namespace systole::cpu {

// All caches of the process share their blocks, as kernels of a program run one after another:
// there is one block for each that is in use at the same time, as large as the largest that was
// asked for. The last cache to be destroyed frees them. Thread-safe.
class ScratchCache {
 public:
  ScratchCache();
  ~ScratchCache();
  ScratchCache(const ScratchCache&) = delete;

  // Returns at least `elements` uninitialised elements of f32.
  std::unique_ptr<Tensor> take(int64_t elements);
  // `memory` is from take() of any cache.
  void give_back(std::unique_ptr<Tensor> memory);
};

}  // namespace systole::cpu
