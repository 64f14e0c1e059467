// The pretty form of ops, `stablehlo.pad %x, %v, low = [4], high = [4], interior = [0] : ...`: one
// line of a table for each op that has one, which printer and parser both follow. What the fields
// of a line are is said in text/attrs.h. To give an op a pretty form: a line in syntax.cc.
//
// A line is literal text, printed as it stands and read token by token, with
//   $*                        the operands, behind each other
//   <field>                   an attribute's short spelling: [1, 2], LT, true, 5
//   <field#stablehlo.name>    an attribute #stablehlo.name<...> without its name
//   <field#stablehlo.name<>>  and without its brackets
//   <@field>                  a string, written as a symbol: @foo, @"not an identifier"
//   <start:limit:stride>      three lists, by axis: [0:4:2, 1:3]
//   ?(...)                    what is left out when its fields have their defaults
//   |...|                     such parts in any order, with commas between
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace systole::hlo::text {

// What stands behind the colon. Each may also be a function's type, (operands) -> results, and is
// printed as one where the shorthand does not say it all.
enum class TypeForm : uint8_t {
  none,        // nothing: the op has no operands, and a literal says its type
  functional,  // (T, U) -> V
  same,        // T: the type of every operand and of the result
  result,      // T: the result's; there are no operands
  list,        // T, U: the operands', and the results' where there are any; nothing for none
  select,      // P, T: the condition's, and the others'
  complex,     // complex T: the result's; the operands are its parts
  tuple,       // tuple<T, U>: the result's; the operands are its elements
};

struct Piece {
  enum class Kind : uint8_t { literal, operands, field, dialect, symbol, ranges, optional, set };
  Kind kind;
  std::string text;                       // the literal; the field; the first of ranges
  std::vector<std::string> rest;          // dialect: the attribute's name; ranges: the other fields
  bool bare = false;                      // dialect: without brackets
  std::vector<std::vector<Piece>> parts;  // optional: one; set: any number
};

struct Syntax {
  TypeForm types;
  std::vector<Piece> pieces;
  std::vector<std::string> fields;  // all that the pieces name

  bool has_field(std::string_view name) const;
};

// The form of the op of that name, without its dialect: "pad". nullptr: none, or one that is more
// than a line (reduce, while).
const Syntax* find_syntax(std::string_view name);

}  // namespace systole::hlo::text
