// Iterators: a Dataset running.
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
#include "systole/graph/api/graph.h"

namespace systole {

class Dataset;
namespace data {
class DatasetNode;
}

// Gives the elements of a data set in order. One thread at a time, but for cancel() and stats().
// Destroying it joins its threads: at once unless a user's function is still running in one.
class Iterator {
 public:
  // Errors: INVALID_ARGUMENT for a data set with parameters, which only a session runs.
  explicit Iterator(const Dataset& dataset, const IteratorOptions& options = {});
  // With the values of the parameters, in the order of dataset.parameters(). Errors:
  // INVALID_ARGUMENT when they do not fit.
  Iterator(const Dataset& dataset, const IteratorOptions& options, const Components& parameters);
  // One that goes on from a saved state, with the parameters that are in it. Errors: those of
  // restore_state().
  static Iterator restored(const Dataset& dataset, const IteratorOptions& options,
                           std::string_view state);
  Iterator(Iterator&&) noexcept;
  Iterator& operator=(Iterator&&) noexcept;
  ~Iterator();

  // nullopt at the end, from then on. Errors: those of the pipeline; what failed is skipped when
  // next() is called again. CANCELLED after cancel().
  std::optional<Nest<Tensor>> next();
  // The same, flattened, into `row`, whose storage is used again.
  bool next_row(Components& row);

  // Everything that is needed to give the next element, and all after it, in another process: the
  // values of parameters, too. While parallel stages run their work in flight is finished first.
  // Errors: CANCELLED after cancel(), which leaves work undone.
  std::string save_state();
  void save(StateWriter& writer);
  // REQUIRES: an iterator of the same pipeline that has given nothing yet; how many
  // threads a stage has (if any), and sizes of buffers, may be others. Errors: FAILED_PRECONDITION
  // for a state of other stages or of elements of other types, DATA_LOSS for a damaged one.
  void restore_state(std::string_view state);
  void restore(StateReader& reader);

  // Makes a call of next() that waits, and all later ones, throw CANCELLED. Thread-safe, but not
  // beside restore().
  void cancel();
  // The last stage first. Thread-safe, but not beside restore().
  std::vector<StageStats> stats() const;
  const Nest<TensorType>& element_spec() const;

 private:
  struct Impl;
  explicit Iterator(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Two ways to give a graph its input. Each session that runs the graph has an iterator of its own.

// Starts with the first run that needs it. At the end of input a run throws OUT_OF_RANGE.
class OneShotIterator {
 public:
  // Errors: INVALID_ARGUMENT for a data set with parameters.
  OneShotIterator(const Dataset& dataset, const IteratorOptions& options);

  // Ops of the current graph that give the next element, once a run.
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

// Starts anew whenever `initializer()` is run, which computes the parameters of the data set: what
// they depend on is fed to that run. Before that a run throws FAILED_PRECONDITION.
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

// Its position in the session that runs it, for a Saver: given to SaverOptions, or added to the
// collection graph_keys::saveable_objects before the Saver is made. An iterator that was restored
// needs no initializer, and one that is run begins anew. `name`: in the checkpoint; by default
// "SerializeIterator", "SerializeIterator_1"... in the order of these calls.
// (tf.contrib.data.make_saveable_from_iterator)
Saveable make_saveable_from_iterator(const OneShotIterator& iterator, std::string_view name = {});
Saveable make_saveable_from_iterator(const InitializableIterator& iterator,
                                     std::string_view name = {});

// The data set behind what get_next() gave, however it was taken apart, put together and given
// shapes; ops behind it become a map. Errors: INVALID_ARGUMENT when an output is no such.
Dataset dataset_of(const Nest<Output>& outputs);

}  // namespace systole
