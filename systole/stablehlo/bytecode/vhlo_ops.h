// VHLO's ops: the versions of StableHLO's ops, and the attributes that files store for each.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/stablehlo/bytecode/container.h"

namespace systole::hlo::bytecode {

struct VhloOp {
  std::string_view name;  // StableHLO's, without the dialect
  int version = 1;
  VhloVersion since = kOldestVhlo;
  VhloVersion until = kNewestVhlo;                // the last that has it
  bool one_operand = false;                       // which later versions have several of
  std::vector<std::string_view> attributes = {};  // sorted
};

// Returns the op of a name in a file: that of "add_v1", or of "scatter_v2". Ops without attributes
// that have one version are not checked. Returns nullopt for unknown versions of the others, and
// for names without a version.
std::optional<VhloOp> vhlo_op(std::string_view name);
// Returns the version of an op that VHLO `version` has. Returns nullopt if it has none.
std::optional<VhloOp> vhlo_op(std::string_view stablehlo_name, const VhloVersion& version);

}  // namespace systole::hlo::bytecode
