// MLIR attribute values, before they are converted to the fields of an op.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/stablehlo/text/lexer.h"
#include "systole/stablehlo/text/literal.h"

namespace systole::hlo::text {

struct Attribute;
struct NamedAttribute;

// {a = 1 : i64, b}
struct Dictionary {
  size_t offset = 0;
  std::vector<NamedAttribute> entries;

  // Returns nullptr if there is no attribute of that name.
  const Attribute* find(std::string_view name) const;
};

struct Unit {};  // a name alone
struct Symbol {
  std::string name;
};
// array<i64: 1, 2>; elements of i1 are 0 and 1.
struct DenseArray {
  std::vector<int64_t> values;
};
// #stablehlo.gather<...>, #stablehlo<...>. The body is parsed later, by code that knows the name.
struct DialectAttribute {
  std::string name;  // "stablehlo.gather"
  size_t body = 0;   // the offset of the '<'
};
// A bare word, in places where attributes have a short spelling: LT, DEFAULT.
struct Word {
  std::string text;
};
// Values that no opcode reads: types, floating-point numbers, affine maps...
struct Other {};

struct Attribute {
  size_t offset = 0;
  size_t end = 0;  // after its last token
  std::variant<Unit, bool, int64_t, std::string, Symbol, Tensor, Splat, DenseArray,
               std::vector<Attribute>, Dictionary, DialectAttribute, Word, Other>
      value;
};

struct NamedAttribute {
  std::string name;
  Attribute attribute;
};

// Reads a value, or an alias #name.
Attribute read_attribute(Lexer& lexer);
// Reads a value in the short spelling of pretty forms: LT for #stablehlo<comparison_direction LT>,
// [1, 2] for array<i64: 1, 2>. Does not read a type after a colon.
Attribute read_short_attribute(Lexer& lexer);
// {name = attribute, ...}
Dictionary read_dictionary(Lexer& lexer);
// Returns the attribute's text with aliases expanded, comments removed and white space reduced to
// single spaces.
std::string attribute_text(Lexer& lexer, const Attribute& attribute);
// <name = attribute, ...>: the body of a structure such as #stablehlo.gather.
Dictionary read_struct(Lexer& lexer);
// raw name = attribute, ...>: the alternative form of a structure, without its '<'.
Dictionary read_raw_struct(Lexer& lexer);

}  // namespace systole::hlo::text
