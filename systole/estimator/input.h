// The input of a model: which batches an input_fn gives, and how they become those of the replicas.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "systole/estimator/estimator.h"

namespace systole::estimator {

// How one element of the data sets relates to one step.
enum class Layout : uint8_t {
  split,        // an element is the whole batch, split over the replicas
  per_replica,  // an element is a replica's batch
  broadcast,    // an element is the batch of every replica
};

struct InputOptions {
  Mode mode = Mode::train;
  InputPipelineConfig config = InputPipelineConfig::PER_HOST_V1;
  int64_t replicas = 1;
  bool use_tpu = false;
  std::optional<int64_t> batch_size;  // over all replicas
  Params params;
};

// What an input_fn gave: a data set, or one for each replica (PER_SHARD_V1).
struct Input {
  std::vector<Dataset> datasets;
  Layout layout = Layout::split;
  int64_t replicas = 1;
  ElementSpec features;                  // of a replica; the batch is -1 where it is not known
  ElementSpec labels;                    // empty when there are none
  std::optional<int64_t> replica_batch;  // examples of a replica in one step
};

// Calls the input_fn. Errors: INVALID_ARGUMENT for a batch size that cannot be split, with the
// nearest sizes that can; for shapes that are not static where they must be, with the fix.
Input make_input(const InputFn& input_fn, const InputOptions& options);

// The batches of up to K steps, as a StepLoop takes them.
struct LoopInput {
  std::vector<TensorType> types;  // of a replica's batch in one step, flattened
  std::vector<Tensor> stacks;     // [replicas, K, batch, ...] each; then f32 [replicas, K, batch],
                                  // the example mask, where asked for
  int64_t steps = 0;              // how many of the K are there
  int64_t examples = 0;           // real ones in all
  std::vector<int64_t> in_replica;  // real ones of each replica in the last step
};

struct FeedOptions {
  int64_t max_steps = 1;  // K
  // Fill batches up to the batch size, and add the mask.
  bool pad = false;
  // All batches of one size: an error for another (with the fix); else the stack ends before it.
  bool fixed = true;
};

// Reads elements and stacks them. Not synchronised.
class Feed {
 public:
  Feed(const Input& input, const FeedOptions& options);

  // Bytes of one step over all replicas, 0 at the end of input. Reads the first batch if need be.
  int64_t step_bytes();
  // K, for the calls of next() from now on.
  void set_max_steps(int64_t max_steps);

  // The batches of up to `steps` <= max_steps steps; fewer before the end of input, nothing at it.
  // The stacks' memory is used again by the next call.
  std::optional<LoopInput> next(int64_t steps);

  // The state of the input, to go on after what next() has given.
  std::string save_state();
  void restore_state(std::string_view state);

 private:
  using Rows = std::vector<Tensor>;
  // One step: for each replica its flattened batch (empty where the input ended before it).
  using Step = std::vector<Rows>;
  std::optional<Step> read_step();
  Rows read(size_t source);
  std::vector<TensorType> types_of(const Step& step) const;
  void place(const Step& step, int64_t at, LoopInput& result);

  const Input input_;
  FeedOptions options_;
  std::vector<Iterator> iterators_;
  std::optional<Step> peeked_;
  bool ended_ = false;
  std::vector<Tensor> buffers_;
  std::vector<TensorType> buffer_types_;
};

}  // namespace systole::estimator
