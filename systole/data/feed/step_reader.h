// Reads the elements that one step of all replicas takes from the data sets of an input.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "systole/data/dataset.h"
#include "systole/data/state.h"

namespace systole::data {

// The relation of elements to steps.
enum class StepLayout : uint8_t {
  split,        // an element is the whole batch, split over the replicas in order
  per_replica,  // an element is a replica's batch
  broadcast,    // an element is the batch of every replica
};

// The source of the steps.
struct StepSource {
  std::vector<Dataset> datasets;  // one, or one for each replica
  StepLayout layout = StepLayout::split;
  int64_t replicas = 1;
  // Examples of a replica in one step, if known.
  std::optional<int64_t> replica_batch = std::nullopt;
  // The number of rows of an example in each component; empty: one. Images in a device's layout,
  // for instance, are flat: height * width * channels rows of an example.
  std::vector<int64_t> rows = {};
  // Pads batches that are not full and adds an example mask; the last step may lack replicas.
  bool pad = false;
  std::string name;  // errors start with it

  bool is_split() const { return layout == StepLayout::split; }
  bool is_per_replica() const { return layout == StepLayout::per_replica; }
  bool is_broadcast() const { return layout == StepLayout::broadcast; }
  // The number of replicas that share one element.
  int64_t parts() const { return is_split() ? replicas : 1; }
  int64_t rows_of(size_t component) const { return rows.empty() ? 1 : rows[component]; }
  // The number of elements of one step.
  size_t elements() const { return is_per_replica() ? static_cast<size_t>(replicas) : 1; }
};

// The flattened batch of each replica (fewer if the input ended), or one batch for all replicas
// that split or share it.
using Step = std::vector<Components>;

// Returns the number of examples of a batch; 0 for one without tensors.
int64_t num_examples(const Components& batch);

// Used by one thread at a time, except for cancel() and stats(), which must not run during
// restore().
class StepReader {
 public:
  // `source` must outlive it.
  StepReader(const StepSource& source, const IteratorOptions& options);

  // Reads a step; nullopt at the end of input. `places` is memory into which the data sets may
  // write: empty, or one element each. Errors: those of the data sets, which drop the step;
  // INVALID_ARGUMENT for elements without a batch dimension.
  std::optional<Step> read(Step places = {});
  // Returns whether the next read() may write to places. Becomes false once a read() could not.
  bool takes_places() const { return in_place_ && pending_.empty() && !error_; }
  // Puts a step back; the next read() returns it.
  void unread(Step step) { pending_.push_front(std::move(step)); }
  // Keeps memory for a later read(); frees more than one step needs.
  void recycle(Step step);

  // Saves the position before `steps`, the last ones read, and the error that followed them.
  void save(StateWriter& writer, const std::vector<Step>& steps, const std::optional<Error>& error);
  // REQUIRES: nothing was read. Errors, after which nothing has changed: FAILED_PRECONDITION for
  // another number of data sets or of elements in the steps read ahead; as Iterator::restore_state.
  void restore(StateReader& reader);

  void cancel();
  // The statistics of all data sets.
  std::vector<StageStats> stats() const;

 private:
  bool read(size_t dataset, Components& row);
  std::vector<Iterator> make_iterators() const;
  Components spare();
  std::optional<Step> read_new(Step places);

  const StepSource& source_;
  const IteratorOptions options_;
  std::vector<Iterator> iterators_;
  std::deque<Step> pending_;
  std::optional<Error> error_;  // follows them
  Step spare_;
  bool in_place_ = true;
  bool ended_ = false;
};

}  // namespace systole::data
