// From an op's dictionary of attributes in text to the struct that belongs to its opcode.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "systole/hlo/chlo/chlo.h"
#include "systole/hlo/ir/attrs.h"
#include "systole/hlo/ir/opcode.h"
#include "systole/hlo/text/attribute.h"

namespace systole::hlo::text {

// `dictionaries` are those of one op: its properties <{...}>, its attributes {...}, and those of
// its pretty form, where structures' fields stand by themselves. Names with a dot, which belong to
// nobody here, and result_accuracy, which ours is always within, are skipped. Leaves `lexer` where
// it is. `offset` is the op's. Errors: INVALID_ARGUMENT for what is missing, unknown or of another
// kind.
Attrs read_attrs(Lexer& lexer, Opcode opcode, size_t offset,
                 const std::vector<Dictionary>& dictionaries, bool pretty = false);

// Checks an attribute that belongs to no op. If it is a structure of an opcode's attributes, such
// as #stablehlo.gather<...>, its fields must be valid. Does not advance `lexer`. Errors:
// INVALID_ARGUMENT.
void check_dialect_attribute(Lexer& lexer, const Attribute& attribute);

// Of the ops that text/import.h rewrites: the attributes of all, of which each has some. Those of
// others are unknown to it.
struct LegacyAttrs {
  Dims broadcast_sizes;
  std::string einsum_config;
  int64_t index = 0;
  int64_t dim = 0;
  int64_t batch_dims = 0;
  std::vector<Precision> precision_config;
};
LegacyAttrs read_legacy_attrs(Lexer& lexer, std::string_view op, size_t offset,
                              const std::vector<Dictionary>& dictionaries);
chlo::Attrs read_chlo_attrs(Lexer& lexer, std::string_view op, size_t offset,
                            const std::vector<Dictionary>& dictionaries);

// {tf.aliasing_output = 1 : i32}: an integer of a dictionary; `missing` when there is none of that
// name.
int64_t read_integer_or(const Lexer& lexer, const Dictionary& dictionary, std::string_view name,
                        int64_t missing);

}  // namespace systole::hlo::text
