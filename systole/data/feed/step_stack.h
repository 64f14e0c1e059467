// Steps of all replicas, one behind the other, as a loop on a device takes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "systole/data/feed/step_reader.h"

namespace systole::data {

// Types of a replica's part of an element of these types. Errors: INVALID_ARGUMENT for texts, and
// for batches that cannot be split.
std::vector<TensorType> part_types(const StepSource& source, std::vector<TensorType> element);

// Memory for up to so many steps of one size, which is kept when they are cleared. One thread at a
// time.
class StepStack {
 public:
  // `source` outlives it.
  explicit StepStack(const StepSource& source) : source_(source) {}

  // Takes steps of these types (of a replica) from now on, up to `most`. REQUIRES: it has none.
  void set_types(const std::vector<TensorType>& types, int64_t most);
  const std::vector<TensorType>& types() const { return types_; }
  // [replicas, most, ...] each; then f32 [replicas, most, batch], the mask, where there is one.
  const std::vector<Tensor>& buffers() const { return buffers_; }
  int64_t steps() const { return static_cast<int64_t>(examples_.size()); }
  // Real ones of each replica in a step.
  const std::vector<int64_t>& examples(int64_t step) const {
    return examples_[static_cast<size_t>(step)];
  }

  // Memory in the next step for the rows of what is read, where each is one piece of it; nothing
  // where it is not.
  Step places();
  // Adds a step, but for what is there already. REQUIRES: there is room; its types are part_types()
  // of its first row. Errors: INVALID_ARGUMENT for other rows of other types, or, where they are
  // filled up, of more examples.
  void push(const Step& step);
  // What push() was given. REQUIRES: no padding.
  Step step(int64_t at) const;
  // Has the steps of `from` from `first` on, and no others.
  void assign_rest(const StepStack& from, int64_t first);
  void clear() { examples_.clear(); }

 private:
  int64_t slot_bytes(size_t component) const;
  int64_t offset(size_t component, int64_t replica, int64_t step) const;
  std::byte* slot(size_t component, int64_t replica, int64_t step);
  void push_row(const Components& row, int64_t replica, int64_t count);
  void push_mask(int64_t replica, int64_t count);
  void check_types(const Components& row) const;

  const StepSource& source_;
  int64_t most_ = 0;
  std::vector<TensorType> types_;
  std::vector<Tensor> buffers_;
  std::vector<std::vector<int64_t>> examples_;  // a step, a replica
};

}  // namespace systole::data
