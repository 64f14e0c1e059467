// Reads what one step of all replicas takes from the data sets of an input.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "systole/data/state.h"
#include "systole/estimator/input.h"

namespace systole::estimator {

// For each replica its flattened batch (none where the input ended before it); one for all replicas
// where they split it or share it.
using Step = std::vector<Row>;

// Examples of a batch; 0 for one without tensors.
int64_t rows_of(const Row& row);

// One thread at a time, but for cancel() and stats().
class StepReader {
 public:
  // `incomplete`: a step for only some of the replicas is a step.
  StepReader(const Input& input, bool incomplete, const IteratorOptions& options);

  // Nothing at the end of input. `places`: memory for the step's rows, where the data sets may
  // write them; none, or one a row. Errors: those of the data sets; INVALID_ARGUMENT for elements
  // without a batch.
  std::optional<Step> read(Step places = {});
  // Gives it again before all others.
  void unread(Step step) { pending_.push_front(std::move(step)); }
  // Takes memory that a later read() may use.
  void recycle(Step step);

  // The position before `steps`, which were read last.
  void save(StateWriter& writer, const std::vector<Step>& steps);
  // REQUIRES: nothing was read yet. Errors: FAILED_PRECONDITION for another number of data sets,
  // and as Iterator::restore_state.
  void restore(StateReader& reader);

  void cancel();
  // Of all data sets.
  std::vector<StageStats> stats() const;

 private:
  Row read(size_t source, Row row);
  Row spare();
  std::optional<Step> read_new(Step places);

  const Input& input_;
  const bool incomplete_;
  std::vector<Iterator> iterators_;
  std::deque<Step> pending_;
  Step spare_;
  bool ended_ = false;
};

}  // namespace systole::estimator
