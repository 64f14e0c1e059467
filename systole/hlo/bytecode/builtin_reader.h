// The builtin dialect's encoding of attributes and types.
#pragma once

#include "systole/hlo/bytecode/attribute_reader.h"

namespace systole::hlo::bytecode {

// Each reads one from its code on. Errors: those of AttributeReader; UNIMPLEMENTED for kinds that
// no program of StableHLO has.
DecodedAttribute read_builtin_attribute(ByteReader& reader, AttributeReader& attributes);
DecodedType read_builtin_type(ByteReader& reader, AttributeReader& attributes);

}  // namespace systole::hlo::bytecode
