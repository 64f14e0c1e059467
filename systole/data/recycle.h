// Reuse of the memory of elements. Stage::next(row) takes the element that the stage produced
// before, unless the consumer kept it, and may write the next one into its memory.
#pragma once

#include <atomic>
#include <string_view>

#include "systole/data/state.h"

namespace systole::data {

// Returns whether nobody else references the tensor's memory. Orders this thread's writes after all
// that others did with it.
inline bool sole_owner(const Tensor& tensor) {
  if (!tensor.unique()) return false;
    // Reading the reference count does not order memory accesses by itself.
#if defined(SYSTOLE_SANITIZE_THREAD)
  static_cast<void>(Tensor(tensor));  // the sanitizer does not know fences, but counts
#else
  std::atomic_thread_fence(std::memory_order_acquire);
#endif
  return true;
}

// Drops the components that others reference, so that the rest can be written to.
inline void keep_own(Components& row) {
  for (Tensor& tensor : row) {
    if (!sole_owner(tensor)) tensor = Tensor();
  }
}

// Gives `tensor` this type. Keeps its memory if it has the type already. REQUIRES: keep_own().
inline void make_room(Tensor& tensor, DType dtype, const Shape& shape) {
  if (tensor.dtype() != dtype || tensor.shape() != shape) tensor = Tensor(dtype, shape);
}

// Returns whether the element is one writable scalar of this dtype.
inline bool is_own_scalar(const Components& row, DType dtype) {
  return row.size() == 1 && row[0].dtype() == dtype && row[0].rank() == 0 && sole_owner(row[0]);
}

// Returns the string of an element that is one string scalar, for writing. Copies it first if
// others reference it. Replaces any other element by an empty string.
inline std::string& own_text(Components& row) {
  const bool is_text = row.size() == 1 && row[0].dtype() == DType::string && row[0].rank() == 0;
  if (!is_text) {
    row.assign(1, Tensor(DType::string, {}));
  } else if (!sole_owner(row[0])) {
    row[0] = row[0].clone();
  }
  return row[0].data<std::string>()[0];
}

// Returns the string of an element that is one string scalar.
inline std::string_view text_of(const Components& row) { return row[0].data<std::string>()[0]; }

// Copies `text` into `kept`, reusing its memory unless that is much larger: one long string must
// not make all later ones hold as much.
inline void assign_text(std::string& kept, std::string_view text) {
  const bool fits = text.size() <= kept.capacity() && kept.capacity() <= 2 * text.size() + 256;
  if (fits) {
    kept.assign(text);
  } else {
    kept = std::string(text);
  }
}

// Makes `row` one string scalar.
inline void assign_text(Components& row, std::string_view text) {
  if (!is_own_scalar(row, DType::string)) row.assign(1, Tensor(DType::string, {}));
  assign_text(row[0].data<std::string>()[0], text);
}

// Makes `row` one s64 scalar.
inline void assign_number(Components& row, int64_t value) {
  if (is_own_scalar(row, DType::s64)) {
    row[0].data<int64_t>()[0] = value;
  } else {
    row.assign(1, Tensor(value));
  }
}

}  // namespace systole::data
