// The encoding of Shardy's attributes, which exporters leave in artifacts since VHLO 1.11.
#pragma once

#include "systole/stablehlo/bytecode/attribute_reader.h"

namespace systole::hlo::bytecode {

// Decodes the attribute at the reader's position, where the code of its kind stands, to MLIR text.
// Errors: those of AttributeReader; UNIMPLEMENTED for unknown codes.
DecodedAttribute read_sdy_attribute(ByteReader& reader, AttributeReader& attributes);

}  // namespace systole::hlo::bytecode
