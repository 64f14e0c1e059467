// Copies of operands in a kernel's own layout, which are kept while the operands stay the same: the
// weights of a model that only predicts.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "systole/backends/cpu/kernels/run_context.h"
#include "systole/backends/cpu/kernels/scratch_cache.h"
#include "systole/base/mutex.h"
#include "systole/base/tensor.h"

namespace systole::cpu {

// Keeps the copy of a constant at once; that of an argument from the second run on that sees the
// same buffer unchanged, so that training, which replaces its weights in every step, keeps nothing.
// Thread-safe.
class KeptCopies {
 public:
  struct Memory {
    std::shared_ptr<Tensor> bytes;  // null: the copy is for this run alone
    bool filled = false;            // has the copy
  };
  // Returns the memory for a copy of this version (RunContext::version_of) of the array at
  // `source`. Memory that is not filled is to be filled, and kept by keep().
  Memory take(const void* source, uint64_t version, int64_t size);
  void keep(const void* source, uint64_t version, std::shared_ptr<Tensor> bytes);

 private:
  struct Entry {
    const void* source;
    uint64_t version;
    std::shared_ptr<Tensor> bytes;  // null: seen once
    int64_t last_use;
  };
  Entry& entry_of(const void* source) SYSTOLE_REQUIRES(mutex_);

  Mutex mutex_;
  std::vector<Entry> entries_ SYSTOLE_GUARDED_BY(mutex_);
  int64_t uses_ SYSTOLE_GUARDED_BY(mutex_) = 0;
};

// An operand of f32 in a kernel's own layout, in memory that is kept (KeptCopies) or of this run
// alone. Thread-safe.
class PreparedOperand {
 public:
  class Memory {
   public:
    float* elements() const {
      return static_cast<float*>((scratch_ != nullptr ? *scratch_ : *kept_).raw());
    }

   private:
    friend class PreparedOperand;
    std::unique_ptr<Tensor> scratch_;
    std::shared_ptr<Tensor> kept_;
  };
  // Returns memory with the operand, which fill(elements) writes where the memory does not have it
  // yet. `version` is RunContext::version_of(source), or 0 to keep nothing.
  template <class Fill>
  Memory take(const void* source, uint64_t version, int64_t elements, const Fill& fill) const {
    Memory memory;
    KeptCopies::Memory kept =
        kept_.take(source, version, elements * static_cast<int64_t>(sizeof(float)));
    if (kept.bytes == nullptr) memory.scratch_ = scratch_.take(elements);
    memory.kept_ = kept.bytes;
    if (!kept.filled) fill(memory.elements());
    if (!kept.filled && kept.bytes != nullptr) kept_.keep(source, version, std::move(kept.bytes));
    return memory;
  }
  void give_back(Memory memory) const {
    if (memory.scratch_ != nullptr) scratch_.give_back(std::move(memory.scratch_));
  }

 private:
  mutable ScratchCache scratch_;
  mutable KeptCopies kept_;
};

}  // namespace systole::cpu
