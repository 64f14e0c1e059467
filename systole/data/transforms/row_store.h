// The buffer of a shuffle. Stores single strings and numbers contiguously, so that drawing one
// touches only its own memory.
#pragma once

#include <utility>

#include "systole/data/recycle.h"
#include "systole/data/stage.h"
#include "systole/data/transforms/text_store.h"

namespace systole::data {

// Not thread-safe.
class RowStore {
 public:
  // Makes a store for up to `most` elements of these types.
  RowStore(const std::vector<TensorType>& types, size_t most) : texts_(most) {
    if (types.size() != 1 || types[0].shape != Shape()) return;
    if (types[0].dtype == DType::string) form_ = Form::texts;
    if (types[0].dtype == DType::s64) form_ = Form::numbers;
  }

  size_t size() const {
    switch (form_) {
      case Form::texts:
        return texts_.size();
      case Form::numbers:
        return numbers_.size();
      case Form::rows:
        break;
    }
    return rows_.size();
  }
  // Moves the contents of `row` into the store.
  void push(Components& row) {
    switch (form_) {
      case Form::texts:
        texts_.push(std::move(own_text(row)));
        return;
      case Form::numbers:
        numbers_.push_back(row[0].item<int64_t>());
        return;
      case Form::rows:
        rows_.push_back(std::move(row));
        row.clear();
    }
  }
  // Moves element `i` out; the last element takes its place.
  void take(size_t i, Components& row) {
    switch (form_) {
      case Form::texts:
        own_text(row) = texts_.take(i);
        return;
      case Form::numbers:
        assign_number(row, taken(numbers_, i));
        return;
      case Form::rows:
        row = taken(rows_, i);
    }
  }
  // The following are for elements of one string. A view from text() is valid until that string is
  // changed, moved out or moved to another place.
  void push_text(std::string_view text) { texts_.push_copy(text); }
  void drop_text(size_t i) { texts_.drop(i); }
  std::string_view text(size_t i) const { return texts_.text(i); }
  void set_text(size_t i, std::string_view text) { texts_.set(i, text); }
  // Prefetches element `i` for reading.
  void touch_text(size_t i) const { texts_.touch_text(i); }

  // Prefetches the place of element `i`.
  void touch(size_t i) const {
    if (form_ == Form::texts) texts_.touch(i);
  }
  // Exchanges element `i` with `row`.
  void exchange(size_t i, Components& row) {
    switch (form_) {
      case Form::texts:
        texts_.exchange(i, own_text(row));
        return;
      case Form::numbers:
        assign_number(row, std::exchange(numbers_[i], row[0].item<int64_t>()));
        return;
      case Form::rows:
        std::swap(row, rows_[i]);
    }
  }

  void save(StateWriter& writer) const {
    writer.number(size());
    Components row;
    for (size_t i = 0; i < size(); ++i) {
      if (form_ == Form::texts) assign_text(row, texts_.text(i));
      if (form_ == Form::numbers) assign_number(row, numbers_[i]);
      writer.row(form_ == Form::rows ? rows_[i] : row);
    }
  }
  // REQUIRES: the store is empty.
  void restore(StateReader& reader, const std::vector<TensorType>& types) {
    for (size_t count = reader.count(); count > 0; --count) {
      Components row = reader.row();
      check_row("iterator state: shuffle", row, types);
      push(row);
    }
  }

 private:
  enum class Form : uint8_t { rows, texts, numbers };

  template <class T>
  static T taken(std::vector<T>& all, size_t i) {
    std::swap(all[i], all.back());
    T result = std::move(all.back());
    all.pop_back();
    return result;
  }

  Form form_ = Form::rows;
  std::vector<Components> rows_;
  TextStore texts_;
  std::vector<int64_t> numbers_;
};

}  // namespace systole::data
