// Feeds a device: a data set's batches in stacks of K steps for R replicas, made while the device
// works on the stack before.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "systole/data/dataset.h"
#include "systole/data/feed/feed_report.h"

namespace systole {

struct DeviceFeedOptions {
  int64_t steps = 1;     // K: batches of a stack
  int64_t replicas = 1;  // R
  // false: an element of the data set is a batch for all replicas and is split along its first
  // dimension, in order. true: it is one replica's, and each step takes R of them.
  bool per_replica = false;
  // Steps to give in all; what is behind them is not asked for. -1: until the data set ends.
  int64_t max_steps = -1;
  IteratorOptions iterator;
};

// Two sets of buffers: one is with the consumer, the other is being filled. One thread at a time.
class DeviceFeed {
 public:
  struct Batch {
    // One a component, in the order in which the element flattens: [R, K, b, ...], 64-byte aligned.
    // Of the second dimension only the first `steps_filled` mean anything. Valid, and unchanged,
    // until the next call of next().
    std::vector<Tensor> components;
    int64_t steps_filled = 0;  // fewer than K at the end of input; 0, and no components, behind it
    double waited_seconds = 0;
  };

  // Errors: INVALID_ARGUMENT when a component is not static, holds strings, or cannot be split.
  DeviceFeed(const Dataset& dataset, const DeviceFeedOptions& options);
  ~DeviceFeed();
  DeviceFeed(const DeviceFeed&) = delete;
  DeviceFeed& operator=(const DeviceFeed&) = delete;

  // Waits for a stack. An incomplete step at the end of input is left out. Errors: those of the
  // data set; the step that failed is skipped when next() is called again.
  Batch next();

  // Types per replica and step, one a component: what the device program takes.
  const std::vector<TensorType>& step_types() const;
  const ElementSpec& element_spec() const;

  // Goes on, in another process, with what next() would give next. Finishes the stack that is being
  // made, and has it in the state.
  std::string save_state();
  // REQUIRES: nothing was asked for yet. Errors: FAILED_PRECONDITION where steps for another number
  // of replicas were read ahead, and as Iterator::restore_state; nothing has changed then.
  void restore_state(std::string_view state);

  // Thread-safe.
  FeedReport report() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace systole
