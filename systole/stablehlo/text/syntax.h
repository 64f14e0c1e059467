// The compiled form of an AssemblyFormat, which syntax_reader and syntax_writer follow.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "systole/hlo/semantics/assembly_format.h"

namespace systole::hlo::text {

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

// Returns the form of the op of that name without its dialect, such as "pad": an opcode, or a
// deprecated op that text/import.h rewrites. Returns nullptr if the op has only a generic form, or
// a form that op_reader.cc reads itself (reduce, while).
const Syntax* find_syntax(std::string_view name);

}  // namespace systole::hlo::text
