// Prints the pretty form of an op.
#pragma once

#include <string>
#include <vector>

#include "systole/hlo/ir/module.h"
#include "systole/stablehlo/text/attr_writer.h"
#include "systole/stablehlo/text/syntax.h"

namespace systole::hlo::text {

// Returns the part between the op's name and its attributes in braces, with a leading space unless
// it is empty or begins with '('.
std::string syntax_text(const Syntax& syntax, const std::vector<std::string>& operands,
                        const std::vector<WrittenAttr>& attrs);

// Returns the colon and the types.
std::string op_types_text(TypeForm form, const Instruction& instruction);
// " : (T, U) -> V"
std::string function_type_text(const Instruction& instruction);

}  // namespace systole::hlo::text
