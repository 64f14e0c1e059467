// How the axes of an op's operands and results correspond, as far as they can be split over
// devices.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "systole/hlo/ir/module.h"

namespace systole::hlo::spmd {

class Partitioner;

// An index of the loops that compute an op: in a product of matrices the row, the column, and the
// index that is summed over. A device can compute the op for a range of a factor alone.
struct Factor {
  int64_t size = 1;
  // Whether results of the parts must be combined, by ShardingRule::combiner.
  bool reduced = false;
};

// The factors of an axis of an array, major to minor; their sizes multiply to its size. None: the
// axis must be whole on each device.
using DimFactors = std::vector<int>;
using TensorFactors = std::vector<DimFactors>;

// The types of an op on one device.
struct LocalTypes {
  std::vector<TensorType> operands;
  std::vector<TensorType> results;
};

// The rule of an instruction. The empty rule of op_rule() splits nothing.
struct ShardingRule {
  std::vector<Factor> factors;
  std::vector<TensorFactors> operands;
  std::vector<TensorFactors> results;
  // Values that should be split alike: what a loop carries, what branches return.
  std::vector<std::vector<Value>> ties;
  // For reduced factors: op(part, part), associative and commutative.
  std::optional<Opcode> combiner;
  // The operand that takes part in the combination once, not once per part; -1: none.
  int initial = -1;
  // Returns the attributes of the op on a device; null: they are the same.
  Attrs (*localize)(const Instruction&, const LocalTypes&) = nullptr;
  // Writes the op with all that it needs, instead of the default of Partitioner::write(), and
  // returns the results as `Partitioner::layout_of` wants them.
  std::vector<Value> (*write)(Partitioner&, Instruction&) = nullptr;
};

// Returns the rule of a rule-less op: every axis is whole.
ShardingRule empty_rule(const Instruction& x);

// Returns OpSemantics::shard of the opcode for the instruction, or the rule of elementwise opcodes,
// or the empty rule.
ShardingRule rule_of(const Instruction& x);

}  // namespace systole::hlo::spmd
