// The attributes of instructions as those of VHLO's ops.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "systole/hlo/ir/module.h"
#include "systole/stablehlo/bytecode/vhlo_encoder.h"

namespace systole::hlo::bytecode {

struct VhloAttribute {
  std::string name;
  AttrId value;
  bool is_default = false;  // an older version of the op that lacks the attribute means the same
};

// Returns all attributes of an instruction, with those that equal their default, in no particular
// order. Errors: those of VhloEncoder and encode_text.
std::vector<VhloAttribute> vhlo_attributes(const Instruction& instruction, VhloEncoder& encoder);

}  // namespace systole::hlo::bytecode
