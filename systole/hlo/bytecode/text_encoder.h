// Encodes attributes that modules keep as MLIR text.
#pragma once

#include <string_view>

#include "systole/hlo/bytecode/vhlo_encoder.h"

namespace systole::hlo::bytecode {

// Returns the attribute of VHLO with the meaning of a text such as `{a = 1 : i32}`, `[dense<0> :
// tensor<1xindex>]`, or `tf32`; a unit attribute for "". Attributes of other dialects, such as
// #sdy.sharding<...>, stay text. Errors: INVALID_ARGUMENT for texts that are no attribute.
AttrId encode_text(std::string_view text, VhloEncoder& encoder);

}  // namespace systole::hlo::bytecode
