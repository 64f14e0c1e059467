#include "systole/hlo/passes/replica_streams.h"

#include "systole/hlo/ir/builder.h"

namespace systole::hlo {
namespace {

uint64_t blocks_of(const TensorType& drawn) {
  const uint64_t in_block = dtype_info(drawn.dtype).bits == 64 ? 2 : 4;
  return (static_cast<uint64_t>(drawn.shape.num_elements()) + in_block - 1) / in_block;
}

bool move_counter(Instruction& draw) {
  const Value state = draw.operand(0);
  const bool philox = draw.attrs<RngBitGeneratorAttrs>().rng_algorithm != RngAlgorithm::three_fry;
  if (!philox || state.shape() != Shape{3}) return false;
  Builder b(draw.parent(), &draw);
  b.set_metadata(draw.metadata());
  const Value id = b.convert(b.op(Opcode::replica_id, {})->result(), DType::u64);
  const Value step = b.constant(Tensor::of<uint64_t>({3}, {0, blocks_of(draw.results()[1]), 0}));
  draw.set_operand(0, b.add(state, b.multiply(b.broadcast(id, Shape{3}), step)));
  return true;
}

}  // namespace

bool ReplicaStreams::visit(Computation& computation) {
  bool changed = false;
  for (Instruction* x : computation.instructions()) {
    for (const auto& region : x->regions()) changed = visit(*region) || changed;
    if (!x->is(Opcode::rng_bit_generator) || (wanted_ && !wanted_(*x))) continue;
    changed = move_counter(*x) || changed;
  }
  return changed;
}

bool ReplicaStreams::run(Module& module) {
  bool changed = false;
  for (const auto& function : module.functions()) changed = visit(*function) || changed;
  return changed;
}

}  // namespace systole::hlo
