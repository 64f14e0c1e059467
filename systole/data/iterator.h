// Iterators over a Dataset.
#pragma once

#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "systole/base/nest.h"
#include "systole/base/tensor.h"
#include "systole/data/iterator_options.h"
#include "systole/data/state.h"
#include "systole/graph/core/graph.h"

namespace systole {

class Dataset;
namespace data {
class DatasetNode;
}

// Produces the elements of a data set in order. Used by one thread at a time, except for cancel()
// and stats(). Destruction joins its threads; it waits only for a user's function that is still
// running.
class Iterator {
 public:
  // Errors: INVALID_ARGUMENT for a data set with parameters, which only a session can run.
  explicit Iterator(const Dataset& dataset, const IteratorOptions& options = {});
  // Takes the values of the parameters, in the order of dataset.parameters(). Errors:
  // INVALID_ARGUMENT if they do not match.
  Iterator(const Dataset& dataset, const IteratorOptions& options, const Components& parameters);
  // Returns an iterator that continues from a saved state, with the parameters saved in it. Errors:
  // those of restore_state().
  static Iterator restored(const Dataset& dataset, const IteratorOptions& options,
                           std::string_view state);
  Iterator(Iterator&&) noexcept;
  Iterator& operator=(Iterator&&) noexcept;
  ~Iterator();

  // Returns the next element; nullopt at the end and after it. Errors: those of the pipeline. The
  // next call skips the element that failed. CANCELLED after cancel().
  std::optional<Nest<Tensor>> next();
  // Writes the flattened components of the next element to `row` and reuses its memory. Returns
  // false at the end.
  bool next_row(Components& row);

  // Returns the state from which another process continues with the next element, including the
  // values of parameters. Work in flight in parallel stages is finished first. Errors: CANCELLED
  // after cancel().
  std::string save_state();
  void save(StateWriter& writer);
  // REQUIRES: an iterator of the same pipeline that has produced nothing yet. The numbers of
  // threads (if not 0) and the sizes of buffers may differ. Errors: FAILED_PRECONDITION for a state
  // of other stages or of elements of other types; DATA_LOSS for a damaged one.
  void restore_state(std::string_view state);
  void restore(StateReader& reader);

  // Makes a waiting call of next(), and all later calls, throw CANCELLED. Thread-safe, but not
  // while restore() runs.
  void cancel();
  // Returns the statistics of all stages, the last stage first. Thread-safe, but not while
  // restore() runs.
  std::vector<StageStats> stats() const;
  const Nest<TensorType>& element_spec() const;

 private:
  struct Impl;
  explicit Iterator(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Two kinds of graph input. Each session that runs the graph has its own iterator.

// Starts at the first run that needs it. At the end of input a run throws OUT_OF_RANGE.
class OneShotIterator {
 public:
  // Errors: INVALID_ARGUMENT for a data set with parameters.
  OneShotIterator(const Dataset& dataset, const IteratorOptions& options);

  // Adds ops to the current graph that return the next element, once a run.
  Nest<Output> get_next(std::string_view name = "IteratorGetNext",
                        Input::Where where = Input::Where::current()) const;

 private:
  friend class InitializableIterator;
  friend Saveable make_saveable_from_iterator(const OneShotIterator& iterator,
                                              std::string_view name);
  struct State;
  OneShotIterator(const Dataset& dataset, const IteratorOptions& options, bool initializable);
  std::shared_ptr<State> state_;
};

// Starts anew whenever initializer() runs. The initializer computes the parameters of the data set;
// feeds that they need go to that run. Before it, a run throws FAILED_PRECONDITION.
class InitializableIterator {
 public:
  InitializableIterator(const Dataset& dataset, const IteratorOptions& options);

  Operation initializer(Input::Where where = Input::Where::current()) const;
  Nest<Output> get_next(std::string_view name = "IteratorGetNext",
                        Input::Where where = Input::Where::current()) const;

 private:
  friend Saveable make_saveable_from_iterator(const InitializableIterator& iterator,
                                              std::string_view name);
  OneShotIterator iterator_;
};

// Returns the position of the iterator in a session, for a Saver: pass it in SaverOptions, or add
// it to the collection graph_keys::saveable_objects before making the Saver. A restored iterator
// needs no initializer; running the initializer starts it anew. `name` is the key in the
// checkpoint, by default "SerializeIterator", "SerializeIterator_1"... in the order of these calls.
// (tf.contrib.data.make_saveable_from_iterator)
Saveable make_saveable_from_iterator(const OneShotIterator& iterator, std::string_view name = {});
Saveable make_saveable_from_iterator(const InitializableIterator& iterator,
                                     std::string_view name = {});

// Returns the data set whose get_next() produced `outputs`, however they were regrouped or given
// shapes. Ops applied to them become a map. Errors: INVALID_ARGUMENT if an output is not from
// get_next().
Dataset dataset_of(const Nest<Output>& outputs);

}  // namespace systole
