// Custom calls that place a value on a device or give it a layout and do not change it. JAX and
// PyTorch/XLA write them into programs for several devices.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "systole/hlo/ir/module.h"

namespace systole::hlo {

inline bool is_placement_target(std::string_view target) {
  constexpr std::array<std::string_view, 10> kTargets = {"Sharding",
                                                         "SPMDFullToShardShape",
                                                         "SPMDShardToFullShape",
                                                         "xla.sdy.FuncResultSharding",
                                                         "xla.sdy.GlobalToLocalShape",
                                                         "xla.sdy.LocalToGlobalShape",
                                                         "annotate_device_placement",
                                                         "LayoutConstraint",
                                                         "MoveToDevice",
                                                         "MoveToHost"};
  return std::ranges::find(kTargets, target) != kTargets.end();
}

// Returns whether the results are the operands. If several devices run a program, a device's part
// of a value has another type than the whole; with one device the types are equal.
inline bool is_placement(const Instruction& instruction) {
  const auto* attrs = std::get_if<CustomCallAttrs>(&instruction.attrs());
  if (attrs == nullptr || !is_placement_target(attrs->call_target_name)) return false;
  return std::ranges::equal(instruction.operands(), instruction.results(), {}, &Value::type);
}

}  // namespace systole::hlo
