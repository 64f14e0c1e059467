// How the attributes of StableHLO's ops differ from those of VHLO's. VHLO has the fields of
// structures, such as #stablehlo.gather, as attributes of the op, names functions by strings, and
// has true and false where StableHLO has a name alone. The descriptions in ir/attrs.h tell which
// attributes these are.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "systole/hlo/ir/attrs.h"

namespace systole::hlo::bytecode {

struct AttributeGroup {
  std::string name;                 // "dimension_numbers"
  std::string structure;            // "stablehlo.gather"
  bool optional = false;            // absent if VHLO's fields have no values
  std::vector<std::string> fields;  // their names in StableHLO
};

struct AttributeGroups {
  std::vector<AttributeGroup> groups;
  std::vector<std::string> functions;  // attributes that name functions, or list them
  std::vector<std::string> flags;      // names alone
};

// Returns the groups of a StableHLO op by its name without the dialect; those of ops that
// opcodes.def does not have, such as dynamic_gather, are those of the op that replaces them.
AttributeGroups attribute_groups(std::string_view op);

// The name in VHLO of a field of a structure: channel_id for the handle of a channel.
std::string_view vhlo_field_name(std::string_view structure, std::string_view field);

inline constexpr std::string_view kConvolutionStructure = "stablehlo.conv";
inline constexpr std::string_view kAlgorithmStructure = "stablehlo.dot_algorithm";
inline constexpr std::string_view kChannelStructure = "stablehlo.channel_handle";

}  // namespace systole::hlo::bytecode
