// A stack of steps of all replicas, as a loop on a device takes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "systole/data/feed/step_reader.h"

namespace systole::data {

// Returns the types of a replica's part of an element of these types. Errors: INVALID_ARGUMENT for
// strings and for batches that cannot be split.
std::vector<TensorType> part_types(const StepSource& source, std::vector<TensorType> element);

// Memory for a number of steps of one size. clear() keeps it. Used by one thread at a time.
class StepStack {
 public:
  // `source` must outlive it.
  explicit StepStack(const StepSource& source) : source_(source) {}

  // Sets the types of a replica's steps and the capacity in steps. REQUIRES: it is empty.
  void set_types(const std::vector<TensorType>& types, int64_t most);
  const std::vector<TensorType>& types() const { return types_; }
  // [replicas, most, ...] each; then the example mask, f32 [replicas, most, batch], if there is
  // one.
  const std::vector<Tensor>& buffers() const { return buffers_; }
  int64_t steps() const { return static_cast<int64_t>(examples_.size()); }
  // Examples of each replica in a step, without padding.
  const std::vector<int64_t>& examples(int64_t step) const { return examples_[step]; }

  // Returns the memory of the next step for the elements to read, if each is contiguous there;
  // otherwise nothing.
  Step places();
  // Adds a step; does not copy what was made in places(). REQUIRES: there is room; its types are
  // part_types() of its first element. Errors: INVALID_ARGUMENT for other elements of other types,
  // or, with padding, of more examples.
  void push(const Step& step);
  // Returns a step as push() took it. REQUIRES: no padding.
  Step step(int64_t at) const;
  // Replaces its steps by those of `from` from `first` on.
  void assign_rest(const StepStack& from, int64_t first);
  void clear() { examples_.clear(); }

 private:
  int64_t slot_bytes(size_t component) const;
  int64_t offset(size_t component, int64_t replica, int64_t step) const;
  std::byte* slot(size_t component, int64_t replica, int64_t step);
  // Examples of a replica in a step. REQUIRES: set_types().
  int64_t batch() const { return types_[0].shape[0] / source_.rows_of(0); }
  void push_row(const Components& row, int64_t replica, int64_t count);
  void push_mask(int64_t replica, int64_t count);
  void check_types(const Components& row) const;

  const StepSource& source_;
  int64_t most_ = 0;
  std::vector<TensorType> types_;
  std::vector<Tensor> buffers_;
  std::vector<std::vector<int64_t>> examples_;  // by step and replica
};

}  // namespace systole::data
