// VHLO's encoding of attributes and types, decoded to StableHLO's spelling.
#pragma once

#include "systole/stablehlo/bytecode/attribute_reader.h"

namespace systole::hlo::bytecode {

// Both decode what is at the reader's position, where the code of its kind stands. Errors: those of
// AttributeReader; UNIMPLEMENTED for codes that VHLO 1.20 does not have.
DecodedAttribute read_vhlo_attribute(ByteReader& reader, AttributeReader& attributes);
DecodedType read_vhlo_type(ByteReader& reader, AttributeReader& attributes);

}  // namespace systole::hlo::bytecode
