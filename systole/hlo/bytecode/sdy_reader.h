// The encoding of Shardy's attributes, which exporters leave in artifacts since VHLO 1.11.
#pragma once

#include "systole/hlo/bytecode/attribute_reader.h"

namespace systole::hlo::bytecode {

// Reads one from its code on, to MLIR text. Errors: those of AttributeReader; UNIMPLEMENTED for
// unknown codes.
DecodedAttribute read_sdy_attribute(ByteReader& reader, AttributeReader& attributes);

}  // namespace systole::hlo::bytecode
