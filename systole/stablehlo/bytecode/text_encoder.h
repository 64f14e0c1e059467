// Encodes attributes that modules keep as MLIR text.
#pragma once

#include <string_view>

#include "systole/stablehlo/bytecode/vhlo_encoder.h"

namespace systole::hlo::bytecode {

// Parses an attribute in MLIR's text form, such as `{a = 1 : i32}`, `[dense<0> : tensor<1xindex>]`
// or `tf32`, and encodes it as a VHLO attribute. An empty text becomes a unit attribute. Attributes
// of other dialects, such as #sdy.sharding<...>, are stored as strings. Errors: INVALID_ARGUMENT if
// the text is not an attribute.
AttrId encode_text(std::string_view text, VhloEncoder& encoder);

}  // namespace systole::hlo::bytecode
