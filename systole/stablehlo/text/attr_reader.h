// Converts the attributes of an op in text to the struct of its opcode.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "systole/hlo/ir/attrs.h"
#include "systole/hlo/ir/opcode.h"
#include "systole/stablehlo/chlo/chlo.h"
#include "systole/stablehlo/text/attribute.h"

namespace systole::hlo::text {

// Reads one op's attributes from its properties <{...}>, its attributes {...} and the fields of its
// pretty form. Skips discardable attributes (names with a dot) and attributes that change no value,
// such as `device`; logs a note for the latter. Checks result_accuracy, which every backend
// satisfies. Does not advance `lexer`. `offset` is the op's offset. Errors: INVALID_ARGUMENT for
// attributes that are missing, unknown or of the wrong kind.
Attrs read_attrs(Lexer& lexer, Opcode opcode, size_t offset,
                 const std::vector<Dictionary>& dictionaries, bool pretty = false);

// Checks an attribute that belongs to no op, or its elements. One of StableHLO, such as
// #stablehlo.gather<...> or #stablehlo<precision HIGH>, must exist and have valid fields. Does not
// advance `lexer`. Errors: INVALID_ARGUMENT.
void check_dialect_attribute(Lexer& lexer, const Attribute& attribute);

// The attributes of the deprecated ops that text/import.h rewrites. An op with an attribute that is
// not its own is refused.
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

// Returns the integer attribute `name` of a dictionary, such as tf.aliasing_output; `missing` if
// there is none. Errors: INVALID_ARGUMENT for another kind.
int64_t read_integer_or(const Lexer& lexer, const Dictionary& dictionary, std::string_view name,
                        int64_t missing);

}  // namespace systole::hlo::text
