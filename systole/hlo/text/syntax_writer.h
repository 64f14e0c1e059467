// Prints the pretty form of an op by its line of the table in syntax.cc.
#pragma once

#include <string>
#include <vector>

#include "systole/hlo/ir/module.h"
#include "systole/hlo/text/attr_writer.h"
#include "systole/hlo/text/syntax.h"

namespace systole::hlo::text {

// What stands between the op's name and its attributes in braces; begins with a space where there
// is one.
std::string syntax_text(const Syntax& syntax, const std::vector<std::string>& operands,
                        const std::vector<WrittenAttr>& attrs);

// The types from the colon on, with it.
std::string op_types_text(TypeForm form, const Instruction& instruction);
// " : (T, U) -> V"
std::string function_type_text(const Instruction& instruction);

}  // namespace systole::hlo::text
