// Scratch memory of a kernel, kept between its runs.
#pragma once

#include <atomic>
#include <memory>

#include "systole/base/tensor.h"

namespace systole::cpu {

// Concurrent runs get separate memory; one block is kept. Thread-safe.
class ScratchCache {
 public:
  ScratchCache() = default;
  ~ScratchCache() { delete idle_.load(); }
  ScratchCache(const ScratchCache&) = delete;

  // Returns at least `elements` uninitialised elements of f32.
  std::unique_ptr<Tensor> take(int64_t elements) {
    std::unique_ptr<Tensor> memory(idle_.exchange(nullptr));
    if (memory == nullptr || memory->shape().num_elements() < elements)
      memory = std::make_unique<Tensor>(DType::f32, Shape{elements});
    return memory;
  }
  void give_back(std::unique_ptr<Tensor> memory) {
    Tensor* none = nullptr;
    if (idle_.compare_exchange_strong(none, memory.get())) static_cast<void>(memory.release());
  }

 private:
  std::atomic<Tensor*> idle_ = nullptr;
};

}  // namespace systole::cpu
