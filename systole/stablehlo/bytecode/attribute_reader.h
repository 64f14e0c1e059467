// Decodes the attributes and types of a bytecode file to MLIR text, with VHLO's spelled as
// StableHLO's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "systole/stablehlo/bytecode/container.h"
#include "systole/stablehlo/bytecode/dense_text.h"

namespace systole::hlo::bytecode {

struct DecodedType {
  std::string text;
  TensorForm tensor;             // of tensors, and of element types
  std::vector<uint64_t> inputs;  // of functions: indices of types
  std::vector<uint64_t> results;
};

struct DecodedAttribute {
  enum class Kind : uint8_t { other, unit, boolean, integer, string, array, dictionary, type };
  Kind kind = Kind::other;
  std::string text;                                       // "" for unit
  std::string string;                                     // of strings and symbols, without quotes
  std::vector<uint64_t> elements;                         // of arrays: indices of attributes
  std::vector<std::pair<std::string, uint64_t>> entries;  // of dictionaries
  std::optional<std::vector<int64_t>> integers;           // of constants that list i64
};

using AttributeKind = DecodedAttribute::Kind;

class AttributeReader;

// A dialect's own encoding. The functions decode the attribute, or type, at the reader's position,
// where the code of its kind stands.
struct Dialect {
  std::string_view name;  // "vhlo"
  DecodedAttribute (*attribute)(ByteReader& reader, AttributeReader& attributes) = nullptr;
  DecodedType (*type)(ByteReader& reader, AttributeReader& attributes) = nullptr;
};

// Decodes each attribute and type once, when it is asked for. The references that it returns stay
// valid. Errors: INVALID_ARGUMENT with the file and the offset, also for nesting above 64 levels
// and for texts that are far longer than the file; UNIMPLEMENTED for the encodings of other
// dialects.
class AttributeReader {
 public:
  // Keeps both arguments.
  AttributeReader(const Container& container, std::span<const Dialect> dialects);
  ~AttributeReader();
  AttributeReader(const AttributeReader&) = delete;
  AttributeReader& operator=(const AttributeReader&) = delete;

  // `at` gives the place of the index for errors.
  const DecodedAttribute& attribute(uint64_t index, const ByteReader& at);
  const DecodedType& type(uint64_t index, const ByteReader& at);
  // Returns the name of a location, "" if it has none.
  std::string location_name(uint64_t index, const ByteReader& at) const;
  std::string_view string(uint64_t index, const ByteReader& at) const;

  // Counts text that is made of the file. Errors: INVALID_ARGUMENT if it becomes too long.
  void charge(size_t bytes, const ByteReader& at);

 private:
  struct Nesting;

  const Dialect* find_dialect(const Entry& entry) const;

  const Container& container_;
  std::span<const Dialect> dialects_;
  std::vector<std::unique_ptr<DecodedAttribute>> attributes_;
  std::vector<std::unique_ptr<DecodedType>> types_;
  int depth_ = 0;
  size_t budget_;
};

}  // namespace systole::hlo::bytecode
