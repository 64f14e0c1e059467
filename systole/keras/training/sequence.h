// Data in batches that are made one by one. (tf.keras.utils.Sequence)
#pragma once

#include <cstdint>

#include "systole/keras/training/trainer.h"

namespace systole::keras {

// Derive from it. get() with different indices may be called from several threads at once, and in
// any order; on_epoch_end() is never called at the same time.
class Sequence {
 public:
  virtual ~Sequence() = default;
  // The number of batches of an epoch.
  virtual int64_t size() const = 0;
  // Batch `index` of [0, size()): inputs, targets and sample weights; the latter two may be empty.
  virtual Arrays get(int64_t index) = 0;
  virtual void on_epoch_end() {}
};

namespace utils {
using keras::Sequence;
}  // namespace utils

}  // namespace systole::keras
