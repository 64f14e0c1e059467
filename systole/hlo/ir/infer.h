// What the builder asks about an opcode: its result types. The rules, and the definitions of these
// functions, are those of semantics/op_semantics.h.
#pragma once

#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "systole/hlo/ir/module.h"

namespace systole::hlo {

// The input of inference. `declared` holds the result types given by the text or the builder's
// caller, or is empty. Opcodes whose result type does not follow from their operands (reshape,
// iota, convert...) read and check it.
struct InferContext {
  Opcode opcode;
  std::span<const Value> operands;
  const Attrs& attrs;
  std::span<const std::unique_ptr<Computation>> regions;
  std::span<const TensorType> declared;
  // For `call`: the module; nullptr for an instruction outside of a module.
  const Module* module = nullptr;

  const TensorType& operand(int i) const { return operands[i].type(); }
  int num_operands() const { return static_cast<int>(operands.size()); }
  template <class T>
  const T& get() const {
    return std::get<T>(attrs);
  }
  // Returns the only declared result type. Errors: INVALID_ARGUMENT if there is not exactly one.
  const TensorType& declared_type() const;
};

// Checks operand and region counts against the opcode table, infers the result types, and compares
// them with the declared types. Errors: INVALID_ARGUMENT; the caller, who knows the instruction's
// metadata, appends it.
std::vector<TensorType> infer_types(const InferContext& context);

}  // namespace systole::hlo
