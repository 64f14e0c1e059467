// Converts the attributes of a VHLO op, of any version, to those of StableHLO's op.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "systole/stablehlo/bytecode/attribute_reader.h"

namespace systole::hlo::bytecode {

using NamedIndex = std::pair<std::string, uint64_t>;  // an attribute's name and its index

// Returns "name = text" of each attribute of the StableHLO op. Attributes that an older version of
// the op does not have are missing, so that they take their defaults. Attributes that equal their
// default are left out where StableHLO leaves them out. Errors: INVALID_ARGUMENT if a field of a
// structure is missing or of the wrong kind.
std::vector<std::string> stablehlo_attributes(std::string_view op,
                                              const std::vector<NamedIndex>& vhlo,
                                              AttributeReader& attributes, const ByteReader& at);

}  // namespace systole::hlo::bytecode
