// Feeds the loops of a model: batches in stacks of up to K steps for R replicas, read and stacked
// by a thread of its own while the device works on the stack before.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "systole/data/device_feed.h"
#include "systole/estimator/input.h"

namespace systole::estimator {

// The batches of up to K steps, as a StepLoop takes them.
struct LoopInput {
  std::vector<TensorType> types;  // of a replica's batch in one step, flattened
  std::vector<Tensor> stacks;     // [replicas, K, batch, ...] each; then f32 [replicas, K, batch],
                                  // the example mask, where asked for
  int64_t steps = 0;              // how many of the K are there
  int64_t examples = 0;           // real ones in all
  std::vector<int64_t> in_replica;  // real ones of each replica in the last step
  double waited_seconds = 0;        // for it
};

// Bytes of one step over all replicas, of such batches each.
int64_t step_bytes_of(const std::vector<TensorType>& batch, int64_t replicas);

struct FeedOptions {
  int64_t max_steps = 1;  // K
  // Fill batches up to the batch size, and add the mask.
  bool pad = false;
  // All batches of one size: an error for another (with the fix); else the stack ends before it.
  bool fixed = true;
  IteratorOptions iterator = {};
};

// DeviceFeed for everything that an input_fn may give: several data sets, what all replicas share,
// batches that are filled up, and stacks of any length. Not synchronised.
class Feed {
 public:
  // `input` outlives it.
  Feed(const Input& input, const FeedOptions& options);
  ~Feed();
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  // Bytes of one step over all replicas, 0 at the end of input. Reads the first batch if need be.
  // REQUIRES: before next().
  int64_t step_bytes();
  // K, for the calls of next() from now on. REQUIRES: as step_bytes.
  void set_max_steps(int64_t max_steps);

  // The batches of up to `steps` <= max_steps steps; fewer before the end of input, nothing at it.
  // `ahead`: how many steps the call after this will ask for; they are read meanwhile. 0: nothing
  // is read ahead. The stacks' memory is used again by the next call but one. Errors: those of the
  // data sets, when their turn comes.
  std::optional<LoopInput> next(int64_t steps, int64_t ahead = 0);

  // The state of the input, to go on after what next() has given: what was read ahead is in it.
  // REQUIRES: without padding.
  std::string save_state();
  // REQUIRES: as step_bytes.
  void restore_state(std::string_view state);

  FeedReport report() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace systole::estimator
