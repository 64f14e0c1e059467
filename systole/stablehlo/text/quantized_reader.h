// Quantized element types in MLIR text: !quant.uniform<i8:f32, 0.5:-3>.
#pragma once

#include <optional>

#include "systole/base/quantized_type.h"
#include "systole/stablehlo/text/lexer.h"

namespace systole::hlo::text {

struct QuantizedElement {
  DType storage = DType::invalid;
  QuantizedTypePtr type;
};

// Reads the type if the next token begins one, also an alias of one; otherwise returns nullopt.
// Does not check constraints. Errors: INVALID_ARGUMENT for text of another form; UNIMPLEMENTED for
// other types of the dialect.
std::optional<QuantizedElement> read_quantized_element(Lexer& lexer);

}  // namespace systole::hlo::text
