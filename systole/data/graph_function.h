// A map or filter function written with ops, as a stage calls it. Internal to this layer.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "systole/data/result.h"
#include "systole/session/host/host_function.h"

namespace systole::data {

// Thread-safe. `what` ("map") begins the context of errors. With a batch size it is the form for
// batches, which have so many elements, but for the last.
class GraphFunction {
 public:
  GraphFunction(std::string what, HostFunction function, int64_t batch_size = 0)
      : what_(std::move(what)), function_(std::move(function)), batch_size_(batch_size) {}

  const HostFunction& function() const { return function_; }
  // The same on batches, where it is known to be the same for each row. Made by the first call.
  std::optional<HostFunction> batched() const;

  // Elements are small, so that calling it for several at once saves more than it holds up.
  bool worth_chunks() const;

  // The element, or batch, `index`; random ops draw by it and by `calling`. Errors name the
  // element.
  Components call(const Components& row, int64_t index, const CallContext& calling) const;
  // The same into the memory of `results`, as HostFunction::run_into().
  void call_into(const Components& row, int64_t index, const CallContext& calling,
                 Components& results) const;
  // The elements index, index + 1... that are no errors, in place. Several at once where the
  // function has a form for batches and none of them fails. Else as apply_each().
  size_t call_all(std::span<Result> outcomes, int64_t index, const CallContext& calling,
                  ChunkClock::time_point until = ChunkClock::time_point::max()) const;

 private:
  bool call_batched(std::span<Result> outcomes, const CallContext& calling) const;
  [[noreturn]] void throw_of_row(const Components& batch, int64_t index,
                                 const CallContext& calling) const;

  const std::string what_;
  const HostFunction function_;
  const int64_t batch_size_;
};

// `input` in batches. A map whose function has a form for batches is put behind the batch, and runs
// once a batch; where it begins with the parser of tf.Examples and has no threads, that is done
// record by record on the way into the batch. from_tensor_slices numbers its rows, and copies them
// into the batch. All are found through transformations that only choose and order elements.
NodePtr batches_of(const NodePtr& input, int64_t batch_size, bool drop_remainder);

}  // namespace systole::data
