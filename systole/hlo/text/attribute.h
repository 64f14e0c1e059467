// Attribute values as MLIR text has them, before an op's struct says what they should be.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/hlo/text/lexer.h"
#include "systole/hlo/text/literal.h"

namespace systole::hlo::text {

struct Attribute;
struct NamedAttribute;

// {a = 1 : i64, b}
struct Dictionary {
  size_t offset = 0;
  std::vector<NamedAttribute> entries;

  // nullptr when there is none of that name.
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
// #stablehlo.gather<...>, #stablehlo<...>: read by who knows the name, from where its body begins.
struct DialectAttribute {
  std::string name;  // "stablehlo.gather"
  size_t body = 0;   // the offset of the '<'
};
// A name alone, where attributes have a short spelling: LT, DEFAULT.
struct Word {
  std::string text;
};
// What no op of ours has: types, floating-point numbers, affine maps...
struct Other {};

struct Attribute {
  size_t offset = 0;
  size_t end = 0;  // behind its last token
  std::variant<Unit, bool, int64_t, std::string, Symbol, Tensor, Splat, DenseArray,
               std::vector<Attribute>, Dictionary, DialectAttribute, Word, Other>
      value;
};

struct NamedAttribute {
  std::string name;
  Attribute attribute;
};

// Reads a value, or the name of one, #name.
Attribute read_attribute(Lexer& lexer);
// Reads one as it stands in pretty forms: LT for #stablehlo<comparison_direction LT>, [1, 2] for
// array<i64: 1, 2>; a colon behind it is not its own.
Attribute read_short_attribute(Lexer& lexer);
// {name = attribute, ...}
Dictionary read_dictionary(Lexer& lexer);
// Its text, with one space for any, without comments and names of other attributes.
std::string attribute_text(Lexer& lexer, const Attribute& attribute);
// <name = attribute, ...>: the body of #stablehlo.gather and its like.
Dictionary read_struct(Lexer& lexer);
// raw name = attribute, ...>: a structure without its '<', in a form that some have besides theirs.
Dictionary read_raw_struct(Lexer& lexer);

}  // namespace systole::hlo::text
