// Custom calls that place a value on a device or give it a layout and do not change it. JAX and
// PyTorch/XLA write them into programs for several devices.
//
// Shardings of values, which passes/partition reads, are the texts of attributes of such calls:
//
//   Sharding(%a) {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {?}]>} : (T) -> T
//   Sharding(%a) {mhlo.sharding = "{devices=[2,1]<=[2]}"} : (T) -> T
//
// A manual computation, which each device runs on its part of the operands, is a function between
// two calls; the parts differ from the whole by the manual axes alone:
//
//   %l = GlobalToLocalShape(%a) {sdy.in_shardings = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>,
//                                sdy.manual_axes = #sdy<manual_axes{"x"}>}
//   %r = call @manual_computation_body(%l)
//   %g = LocalToGlobalShape(%r) {sdy.manual_axes = ..., sdy.out_shardings = ...}
//
// The function has sdy.manual_axes among its attributes. A computation without operands has no
// first call, one without results no last one.
//
// A call without results that has a side effect is made once, with whole arrays. One with the
// attribute `systole.on_parts = true` is made by each device, with its parts.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "systole/hlo/ir/module.h"

namespace systole::hlo {

inline constexpr std::string_view kShardingTarget = "Sharding";
inline constexpr std::string_view kGlobalToLocal = "xla.sdy.GlobalToLocalShape";
inline constexpr std::string_view kLocalToGlobal = "xla.sdy.LocalToGlobalShape";
// What the names of the functions begin with.
inline constexpr std::string_view kManualBody = "xla.sdy.manual_computation_body";
inline constexpr std::string_view kShardyAttribute = "sdy.sharding";
inline constexpr std::string_view kGspmdAttribute = "mhlo.sharding";
inline constexpr std::string_view kInShardingsAttribute = "sdy.in_shardings";
inline constexpr std::string_view kOutShardingsAttribute = "sdy.out_shardings";
inline constexpr std::string_view kManualAxesAttribute = "sdy.manual_axes";
inline constexpr std::string_view kOnPartsAttribute = "systole.on_parts";
// A call InspectSharding(%a) {backend_config = "KEY"} : (T) -> T tells who compiles the program how
// %a is split.
inline constexpr std::string_view kInspectSharding = "InspectSharding";
// A call whose owner tells how its parts are computed: JAX's custom_partitioning.
inline constexpr std::string_view kCustomPartitioning = "CustomSPMDPartitioning";

inline bool is_placement_target(std::string_view target) {
  constexpr std::array<std::string_view, 10> kTargets = {kShardingTarget,
                                                         "SPMDFullToShardShape",
                                                         "SPMDShardToFullShape",
                                                         "xla.sdy.FuncResultSharding",
                                                         kGlobalToLocal,
                                                         kLocalToGlobal,
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
