// The format of a saved iterator state.
//   state   := "SYDS4\n" section left crc32c
//   section := name value* section*          the values of a stage, then the sections of its inputs
//   left    := value*                        values that ended stages leave to later ones
//   number  := varint (LEB128)               bytes := number byte*
//   tensor  := bytes(TensorFlow's name of the dtype) number(rank) number(size)* elements
//   Elements of strings are `bytes`; all others are little-endian as in memory.
// The format may change between versions. Only the build that wrote a state reads it, for the same
// pipeline.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "systole/base/error.h"
#include "systole/base/tensor.h"

namespace systole {

// The components of one element, in the order of Nest::flatten().
using Components = std::vector<Tensor>;

// Appends to a string. Not thread-safe.
class StateWriter {
 public:
  void number(uint64_t value);
  void flag(bool value) { number(value ? 1 : 0); }
  void bytes(std::string_view value);
  void type(const TensorType& value);  // REQUIRES: static
  void tensor(const Tensor& value);
  void row(const Components& value);
  // Writes the number of elements, then each.
  template <class Rows>
  void rows(const Rows& values) {
    number(values.size());
    for (const Components& value : values) row(value);
  }
  void error(const Error& value);

  const std::string& data() const { return data_; }
  std::string take() { return std::move(data_); }

 private:
  std::string data_;
};

// Reads what a StateWriter wrote. Keeps a reference to the bytes. Not thread-safe. Errors:
// DATA_LOSS, with the offset, for bytes that end early or that no writer writes.
class StateReader {
 public:
  explicit StateReader(std::string_view data) : data_(data) {}

  uint64_t number();
  bool flag() { return number() != 0; }
  // Reads a count of items of a byte or more each. Errors: DATA_LOSS if that many do not fit.
  size_t count();
  std::string_view bytes();
  TensorType type();
  Tensor tensor();
  Components row();
  template <class Rows>
  void rows(Rows& values) {
    values.resize(count());
    for (Components& value : values) value = row();
  }
  // Reads an error that was read ahead of the position. Returns nullopt, after a warning that
  // starts with `who`, if such errors are dropped.
  std::optional<Error> error_ahead(std::string_view who);
  void leave_out_errors() { keeps_errors_ = false; }
  // Reads a name and compares it. Errors: FAILED_PRECONDITION if the state is of another pipeline.
  void expect(std::string_view name);
  // Errors: DATA_LOSS if bytes are left.
  void expect_end() const;

 private:
  [[noreturn]] void malformed(std::string_view what) const;
  std::string_view take(size_t size);
  DType dtype();

  std::string_view data_;
  size_t next_ = 0;
  bool keeps_errors_ = true;
};

}  // namespace systole
