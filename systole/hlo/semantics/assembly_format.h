// The pretty form of an op in text, which parser and printer both follow:
// `stablehlo.pad %x, %v, low = [4], high = [4], interior = [0] : ...`.
//
// The line is literal text, printed verbatim and read token by token, with
//   $*                        the operands, separated by commas
//   <field>                   an attribute in its short spelling: [1, 2], LT, true, 5
//   <field#stablehlo.name>    an attribute #stablehlo.name<...> without its name
//   <field#stablehlo.name<>>  the same, also without its brackets
//   <@field>                  a string written as a symbol: @foo, @"not an identifier"
//   <start:limit:stride>      three lists, printed by axis: [0:4:2, 1:3]
//   ?(...)                    a part that is omitted when its fields have their defaults
//   |...|                     such parts in any order, separated by commas
// The fields are those of the attributes' describe() in ir/attrs.h.
#pragma once

#include <cstdint>
#include <string_view>

namespace systole::hlo {

// The types after the colon. Each form may also be written as a function type,
// (operands) -> results. The printer uses the function type where the short form is ambiguous.
enum class TypeForm : uint8_t {
  none,        // no types: the op has no operands, and a literal gives the result type
  functional,  // (T, U) -> V
  same,        // T: the type of every operand and of the result
  result,      // T: the result's type; there are no operands
  list,        // T, U: the operands' types, and the results' if there are any; may be empty
  select,      // P, T: the type of the condition, and of all other values
  complex,     // complex T: the result's type; the operands are its parts
  tuple,       // tuple<T, U>: the result's type; the operands are its elements
};

struct AssemblyFormat {
  std::string_view line;
  TypeForm types;
};

}  // namespace systole::hlo
