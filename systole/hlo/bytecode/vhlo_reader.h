// VHLO's encoding of attributes and types, decoded to StableHLO's spelling.
#pragma once

#include "systole/hlo/bytecode/attribute_reader.h"

namespace systole::hlo::bytecode {

// Each reads one from its code on. Errors: those of AttributeReader; UNIMPLEMENTED for codes that
// VHLO 1.20 does not have.
DecodedAttribute read_vhlo_attribute(ByteReader& reader, AttributeReader& attributes);
DecodedType read_vhlo_type(ByteReader& reader, AttributeReader& attributes);

}  // namespace systole::hlo::bytecode
