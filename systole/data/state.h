// The bytes that an iterator's state is saved as.
//   state   := "SYDS4\n" section left crc32c
//   section := name value* section*          what a stage writes, then what is before it
//   left    := value*                        what stages that have ended leave to the next ones
//   number  := varint (LEB128)               bytes := number byte*
//   tensor  := bytes(dtype as TensorFlow names it) number(rank) number(size)* elements
//   string elements are `bytes`; all others little-endian as in memory
// Not a format between versions: a state is read by the build, and for the pipeline, that wrote it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "systole/base/error.h"
#include "systole/base/tensor.h"

namespace systole {

// The components of one element, in the order in which its structure flattens.
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
  // Their number and each.
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

// Reads what a StateWriter wrote. Errors: DATA_LOSS, with the offset, for bytes that end early or
// that no writer writes. Borrows the bytes. Not thread-safe.
class StateReader {
 public:
  explicit StateReader(std::string_view data) : data_(data) {}

  uint64_t number();
  bool flag() { return number() != 0; }
  // A count of things that take a byte or more each: never more than there can be.
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
  // An error that was read ahead of the position; nullopt where such are left out, with a warning
  // that begins with `who`.
  std::optional<Error> error_ahead(std::string_view who);
  void leave_out_errors() { keeps_errors_ = false; }
  // Reads a name and compares. Errors: FAILED_PRECONDITION: the state is of another pipeline.
  void expect(std::string_view name);
  // Errors: DATA_LOSS when there is more.
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
