// Batches by index. (tf.keras.utils.Sequence)
#pragma once

#include <cstdint>
#include <memory>

#include "systole/keras/training/arrays.h"

namespace systole::keras {

// Derive from it. fit() calls get() and on_epoch_end() on a thread of its own, one at a time, ahead
// of the device; size() on the caller's. An epoch takes each index once; fit() shuffles their order
// unless its options say otherwise.
class Sequence {
 public:
  virtual ~Sequence() = default;
  // The number of batches of an epoch, at least 1.
  virtual int64_t size() const = 0;
  // The batch `index` of [0, size()): inputs, targets and, if it has them, sample weights; all with
  // the examples as their first axis.
  virtual Arrays get(int64_t index) = 0;
  // Called after the last batch of each epoch was read.
  virtual void on_epoch_end() {}
};

using SequencePtr = std::shared_ptr<Sequence>;

}  // namespace systole::keras
