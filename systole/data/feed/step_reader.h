// Reads what one step of all replicas takes from the data sets of an input.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "systole/data/dataset.h"
#include "systole/data/state.h"

namespace systole::data {

// How one element of the data sets relates to one step.
enum class StepLayout : uint8_t {
  split,        // an element is the whole batch, split over the replicas in order
  per_replica,  // an element is a replica's batch
  broadcast,    // an element is the batch of every replica
};

// What steps are made of.
struct StepSource {
  std::vector<Dataset> datasets;  // one, or one for each replica
  StepLayout layout = StepLayout::split;
  int64_t replicas = 1;
  // Examples of a replica in one step, where that is known.
  std::optional<int64_t> replica_batch = std::nullopt;
  // Batches that are not full are filled up, have a mask, and may lack some of the replicas.
  // REQUIRES: batched.
  bool pad = false;
  // Elements begin with their batch, and one of no examples ends the input. Otherwise they are
  // whatever they are.
  bool batched = true;
  std::string name;  // what errors begin with

  bool is_split() const { return layout == StepLayout::split; }
  bool is_per_replica() const { return layout == StepLayout::per_replica; }
  bool is_broadcast() const { return layout == StepLayout::broadcast; }
  // Replicas that share one element.
  int64_t parts() const { return is_split() ? replicas : 1; }
  // Elements of one step.
  size_t elements() const { return is_per_replica() ? static_cast<size_t>(replicas) : 1; }
};

// For each replica its flattened batch (none where the input ended before it); one for all replicas
// where they split it or share it.
using Step = std::vector<Components>;

// Examples of a batch; 0 for one without tensors.
int64_t rows_of(const Components& row);

// One thread at a time, but for cancel() and stats(), which may not run beside restore().
class StepReader {
 public:
  // `source` outlives it.
  StepReader(const StepSource& source, const IteratorOptions& options);

  // Nothing at the end of input. `places`: memory for the step's rows, where the data sets may
  // write them; none, or one a row. Errors: those of the data sets, which lose their step;
  // INVALID_ARGUMENT for elements without a batch.
  std::optional<Step> read(Step places = {});
  // Whether the next read() may write to places; after a read() that could write there and did not,
  // false for good.
  bool takes_places() const { return in_place_ && pending_.empty() && !error_; }
  // Gives it again before all others.
  void unread(Step step) { pending_.push_front(std::move(step)); }
  // Takes memory that a later read() may use; what is more than a step needs is freed.
  void recycle(Step step);

  // The position before `steps`, which were read last, and the error that came after them.
  void save(StateWriter& writer, const std::vector<Step>& steps, const std::optional<Error>& error);
  // REQUIRES: nothing was read yet. Errors: FAILED_PRECONDITION for another number of data sets, or
  // of elements in the steps that were read ahead, and as Iterator::restore_state; nothing has
  // changed then.
  void restore(StateReader& reader);

  void cancel();
  // Of all data sets.
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
  std::optional<Error> error_;  // comes after them
  Step spare_;
  bool in_place_ = true;
  bool ended_ = false;
};

}  // namespace systole::data
