// Feeds the loops of a device: steps in stacks, read and stacked by a thread of its own while the
// device works on the stack before.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "systole/data/feed/feed_report.h"
#include "systole/data/feed/step_reader.h"

namespace systole::data {

// The batches of some steps.
struct StackedSteps {
  std::vector<TensorType> types;  // of a replica's batch in one step, flattened
  std::vector<Tensor> stacks;     // [replicas, K, batch, ...] each; then f32 [replicas, K, batch],
                                  // the example mask, where batches are filled up
  int64_t steps = 0;              // how many of the K are there
  int64_t examples = 0;           // real ones in all
  std::vector<int64_t> in_replica;  // real ones of each replica in the last step
  double waited_seconds = 0;        // for it
};

// Bytes of one step over all replicas, of such batches each.
int64_t step_bytes_of(const std::vector<TensorType>& batch, int64_t replicas);

struct StackOptions {
  int64_t max_steps = 1;  // K
  // All batches of one size: an error for another (with the fix); else the stack ends before it.
  bool fixed = true;
  // Steps before an error are given behind it, with those that come after, in a stack as long as
  // any; else before it.
  bool errors_first = false;
  IteratorOptions iterator = {};
};

// Two stacks: one is with the consumer, the other is being filled. What can be made in its place in
// a stack is. Not synchronised, but for report().
class StepFeed {
 public:
  // Errors: INVALID_ARGUMENT, where the data sets declare it, for texts and for batches that cannot
  // be split.
  StepFeed(StepSource source, const StackOptions& options);
  ~StepFeed();
  StepFeed(const StepFeed&) = delete;
  StepFeed& operator=(const StepFeed&) = delete;

  // Bytes of one step over all replicas, 0 at the end of input. Reads the first batch if need be.
  // REQUIRES: before next().
  int64_t step_bytes();
  // K, for the calls of next() from now on. REQUIRES: as step_bytes.
  void set_max_steps(int64_t max_steps);

  // The batches of up to `steps` steps, and at most max_steps; fewer before the end of input, a
  // batch of another size or an error, and where the `ahead` of the call before was less; nothing
  // at the end. `ahead`: how many steps the call after this will ask for; they are read meanwhile.
  // 0: nothing is read ahead. The stacks are 64-byte aligned and unchanged until the next call.
  // Errors: those of the data sets, when their turn comes; the step that fails is skipped.
  std::optional<StackedSteps> next(int64_t steps, int64_t ahead = 0);

  // The state of the input, to go on after what next() has given: what was read ahead is in it.
  // REQUIRES: without padding.
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
