// From an op's dictionary of attributes in text to the struct that belongs to its opcode.
#pragma once

#include <vector>

#include "systole/hlo/attrs.h"
#include "systole/hlo/opcode.h"
#include "systole/hlo/text_attribute.h"

namespace systole::hlo::text {

// `dictionaries` are those of one op: its properties <{...}>, its attributes {...}. Names with a
// dot, which belong to nobody here, and precision_config, which asks for no other value, are
// skipped. Leaves `lexer` where it is. `offset` is the op's. Errors: INVALID_ARGUMENT for what is
// missing, unknown or of another kind.
Attrs read_attrs(Lexer& lexer, Opcode opcode, size_t offset,
                 const std::vector<Dictionary>& dictionaries);

// {tf.aliasing_output = 1 : i32}: an integer of a dictionary; `missing` when there is none of that
// name.
int64_t read_integer_or(const Lexer& lexer, const Dictionary& dictionary, std::string_view name,
                        int64_t missing);

}  // namespace systole::hlo::text
