// A map or filter function written with ops, as a stage calls it. Internal to this layer.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "systole/data/result.h"
#include "systole/session/host/host_function.h"

namespace systole::data {

// Thread-safe. Errors start with `what` ("map"). With a batch size it is the vectorized form, which
// takes batches of that many elements; the last may be smaller.
class GraphFunction {
 public:
  GraphFunction(std::string what, HostFunction function, int64_t batch_size = 0)
      : what_(std::move(what)), function_(std::move(function)), batch_size_(batch_size) {}

  const HostFunction& function() const { return function_; }
  // Returns the vectorized form, if it computes the same for each element. The first call makes it.
  std::optional<HostFunction> batched() const;

  // Returns whether elements are so small that one call for several saves more time than it delays
  // the first.
  bool worth_chunks() const;

  // Calls the function for element (or batch) `index`. Random ops depend on `index` and `calling`.
  // Errors name the element.
  Components call(const Components& row, int64_t index, const CallContext& calling) const;
  // As call(), into the memory of `results`, as HostFunction::run_into().
  void call_into(const Components& row, int64_t index, const CallContext& calling,
                 Components& results) const;
  // Calls the function in place for the elements index, index + 1... of a chunk, without its error.
  // Calls the vectorized form for several at once if there is one and no element fails. Otherwise
  // as apply_each().
  size_t call_all(std::span<Result> results, int64_t index, const CallContext& calling,
                  ChunkClock::time_point until = ChunkClock::time_point::max()) const;

 private:
  bool call_batched(std::span<Result> results, const CallContext& calling) const;
  [[noreturn]] void throw_of_row(const Components& batch, int64_t index,
                                 const CallContext& calling) const;

  const std::string what_;
  const HostFunction function_;
  const int64_t batch_size_;
};

// Batches `input`. A map that can be vectorized moves after the batch and runs once a batch. A map
// that starts with the parser of tf.Examples and has no threads parses each record directly into
// the batch. from_tensor_slices becomes a range of indices, and its slices are copied directly into
// the batch. All are found through transformations that only select and order elements.
NodePtr batches_of(const NodePtr& input, int64_t batch_size, bool drop_remainder);

}  // namespace systole::data
