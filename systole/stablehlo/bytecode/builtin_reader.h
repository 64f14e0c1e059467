// The builtin dialect's encoding of attributes and types.
#pragma once

#include "systole/stablehlo/bytecode/attribute_reader.h"

namespace systole::hlo::bytecode {

// Both decode what is at the reader's position, where the code of its kind stands. Errors: those of
// AttributeReader; UNIMPLEMENTED for kinds that no program of StableHLO has.
DecodedAttribute read_builtin_attribute(ByteReader& reader, AttributeReader& attributes);
DecodedType read_builtin_type(ByteReader& reader, AttributeReader& attributes);

}  // namespace systole::hlo::bytecode
