// Reshapes.
#include "systole/hlo/analysis/match.h"
#include "systole/hlo/passes/algebraic_simplifier/rules.h"

namespace systole::hlo {
namespace {

Replacement reshape_to_same(Instruction& op, Builder&) {
  if (op.operand(0).shape() != op.shape()) return {};
  return {op.operand(0)};
}

Replacement reshape_of_reshape(Instruction& op, Builder& builder) {
  const Instruction* inner = match(op.operand(0), Opcode::reshape);
  if (inner == nullptr) return {};
  return {builder.reshape(inner->operand(0), op.shape())};
}

// A splat is the same in any shape.
Replacement reshape_of_splat(Instruction& op, Builder& builder) {
  const Instruction* broadcast = match(op.operand(0), Opcode::broadcast_in_dim);
  if (broadcast == nullptr || broadcast->operand(0).shape().rank() != 0) return {};
  return {builder.broadcast(broadcast->operand(0), op.shape())};
}

constexpr Rule kReshapeRulesRules[] = {
    {"reshape_to_same", Opcode::reshape, reshape_to_same},
    {"reshape_of_reshape", Opcode::reshape, reshape_of_reshape},
    {"reshape_of_splat", Opcode::reshape, reshape_of_splat},
};

}  // namespace

std::span<const Rule> reshape_rules() { return kReshapeRulesRules; }

}  // namespace systole::hlo
