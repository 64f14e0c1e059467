// Feeds a device: reads and stacks the next steps on its own thread while the device works on the
// current ones.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "systole/data/feed/feed_report.h"
#include "systole/data/feed/step_reader.h"

namespace systole::data {

// The stacked batches of some steps.
struct StackedSteps {
  std::vector<TensorType> types;  // of one replica's batch, flattened
  std::vector<Tensor> stacks;     // [replicas, K, batch, ...] each; then f32 [replicas, K, batch],
                                  // the example mask, where batches are filled up
  int64_t steps = 0;              // the number of filled steps, at most K
  int64_t examples = 0;           // without padding
  std::vector<int64_t> in_step;   // of each step
  std::vector<int64_t> in_replica;  // of each replica in the last step
  double waited_seconds = 0;        // by this call of next()
};

// Returns the bytes of one step over all replicas, of batches of these types.
int64_t step_bytes_of(const std::vector<TensorType>& batch, int64_t replicas);

struct StackOptions {
  int64_t max_steps = 1;  // K
  // true: a batch of another size is an error, with advice. false: the stack ends before it.
  bool fixed = true;
  IteratorOptions iterator = {};
  // Called on the feed's thread after each step. Once it returns true, a stack ends with the step
  // that is being read.
  std::function<bool()> stop = nullptr;
};

// Alternates between two stacks: the consumer uses one while the thread fills the other. Batches
// are made in place where possible. Not thread-safe, except for report().
class StepFeed {
 public:
  // Errors: INVALID_ARGUMENT for strings and for batches that cannot be split, if the data sets
  // declare such types; otherwise next() throws it.
  StepFeed(StepSource source, const StackOptions& options);
  ~StepFeed();
  StepFeed(const StepFeed&) = delete;
  StepFeed& operator=(const StepFeed&) = delete;

  // Returns the bytes of one step over all replicas, 0 at the end of input. May read the first
  // batch. REQUIRES: next() was not called.
  int64_t step_bytes();
  // Sets K. REQUIRES: as step_bytes.
  void set_max_steps(int64_t max_steps);

  // Returns the batches of up to `steps` steps, at most max_steps; nullopt at the end of input.
  // Returns fewer before the end, before a batch of another size, before an error, once
  // StackOptions::stop has returned true, and if the `ahead` of the preceding call was less.
  // `ahead` is the number of steps that the next call will ask for; they are read meanwhile (0:
  // none). Stacks are 64-byte aligned and unchanged until the next call. Errors: those of the data
  // sets, in their place; the next call skips the step that failed.
  std::optional<StackedSteps> next(int64_t steps, int64_t ahead = 0);

  // Returns the state from which to continue after the steps that next() returned; it contains the
  // steps read ahead. REQUIRES: no padding.
  std::string save_state();
  // REQUIRES: as step_bytes. Errors: as StepReader::restore.
  void restore_state(std::string_view state);

  // Thread-safe.
  FeedReport report() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace systole::data
