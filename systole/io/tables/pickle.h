// Python's pickles, as far as they are plain values: numbers, strings, lists, tuples, dicts, and
// NumPy arrays of these. Nothing in a pickle is executed: classes and calls are kept as names.
//   pickle := 0x80 protocol{2..5} opcode... '.'        (Lib/pickletools.py describes the opcodes)
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/base/tensor.h"

namespace systole {

// A value of a Pickle.
struct PickleValue {
  enum class Kind : uint8_t { none, boolean, integer, real, text, list, tuple, dict, global, call };
  Kind kind = Kind::none;
  // The value of integers and booleans; for texts, lists, tuples, dicts, globals and calls an index
  // that Pickle knows.
  int64_t integer = 0;
  double real = 0;
};

// The values of one pickle. A value may appear in several others, and in itself.
class Pickle {
 public:
  // `path` is for messages; `bytes` outlive this. Errors: DATA_LOSS if they end early;
  // INVALID_ARGUMENT if they are malformed; UNIMPLEMENTED for other opcodes and for integers
  // beyond 64 bits.
  Pickle(std::string path, std::string_view bytes);

  const PickleValue& root() const { return root_; }
  // The items of a list, a tuple or a dict (key, value, key, ...), or of a call: its class or
  // function, its arguments and, if it was given one, its state. Empty for other values.
  std::span<const PickleValue> items(const PickleValue& value) const;
  // The bytes of a text, or "module name" of a global. Empty for other values.
  std::string_view text(const PickleValue& value) const;
  // The value of a text as key of a dict. Errors: NOT_FOUND; INVALID_ARGUMENT for another value.
  const PickleValue& at(const PickleValue& dict, std::string_view key) const;

  // The elements of a NumPy array of objects, or of a list. Errors: INVALID_ARGUMENT for another
  // value.
  std::span<const PickleValue> elements(const PickleValue& value) const;
  // A list of integers. Errors: INVALID_ARGUMENT for other values and integers beyond 32 bits.
  std::vector<int32_t> int_list(const PickleValue& value) const;
  // A NumPy array of bytes. Errors: INVALID_ARGUMENT for another value.
  Tensor byte_array(const PickleValue& value) const;

 private:
  friend class PickleParser;
  struct Node {
    std::vector<PickleValue> items;
    std::string text;
  };

  const Node* node_of(const PickleValue& value) const;
  // The state of a NumPy array: (version, shape, dtype, Fortran's order, data).
  std::span<const PickleValue> array_state(const PickleValue& value) const;
  std::string raw_bytes(const PickleValue& value) const;

  std::string path_;
  std::vector<Node> nodes_;
  PickleValue root_;
};

}  // namespace systole
