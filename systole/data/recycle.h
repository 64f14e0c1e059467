// The memory of an element that nobody needs any more, used for the next one. A stage gets back in
// next(row) the row that it gave before, unless somebody kept it.
#pragma once

#include <atomic>
#include <string_view>

#include "systole/data/state.h"

namespace systole::data {

// Nobody else has the tensor's memory, and all that others did with it has been seen.
inline bool sole_owner(const Tensor& tensor) {
  if (!tensor.unique()) return false;
    // Reading the count orders nothing by itself.
#if defined(__SANITIZE_THREAD__)
  static_cast<void>(Tensor(tensor));  // the sanitizer does not know fences, but counts
#else
  std::atomic_thread_fence(std::memory_order_acquire);
#endif
  return true;
}

// Lets go of what others have of the row, so that the rest can be written to.
inline void keep_own(Components& row) {
  for (Tensor& tensor : row) {
    if (!sole_owner(tensor)) tensor = Tensor();
  }
}

// Makes `tensor` one of this type, in its own memory where it has it. REQUIRES: keep_own().
inline void make_room(Tensor& tensor, DType dtype, const Shape& shape) {
  if (tensor.dtype() != dtype || tensor.shape() != shape) tensor = Tensor(dtype, shape);
}

// The row is one scalar of this dtype that can be written to.
inline bool is_own_scalar(const Components& row, DType dtype) {
  return row.size() == 1 && row[0].dtype() == dtype && row[0].rank() == 0 && sole_owner(row[0]);
}

// The text of a row that is one string scalar, to be changed: a copy where others have it, an empty
// one where the row is anything else.
inline std::string& own_text(Components& row) {
  const bool is_text = row.size() == 1 && row[0].dtype() == DType::string && row[0].rank() == 0;
  if (!is_text) {
    row.assign(1, Tensor(DType::string, {}));
  } else if (!sole_owner(row[0])) {
    row[0] = row[0].clone();
  }
  return row[0].data<std::string>()[0];
}

// The text of a row that is one string scalar.
inline std::string_view text_of(const Components& row) { return row[0].data<std::string>()[0]; }

// `text` in the memory of `kept`. One long text does not make all that come after it hold as much.
inline void assign_text(std::string& kept, std::string_view text) {
  const bool fits = text.size() <= kept.capacity() && kept.capacity() <= 2 * text.size() + 256;
  if (fits) {
    kept.assign(text);
  } else {
    kept = std::string(text);
  }
}

// `row` as one string scalar.
inline void assign_text(Components& row, std::string_view text) {
  if (!is_own_scalar(row, DType::string)) row.assign(1, Tensor(DType::string, {}));
  assign_text(row[0].data<std::string>()[0], text);
}

// `row` as one s64 scalar.
inline void assign_number(Components& row, int64_t value) {
  if (is_own_scalar(row, DType::s64)) {
    row[0].data<int64_t>()[0] = value;
  } else {
    row.assign(1, Tensor(value));
  }
}

}  // namespace systole::data
