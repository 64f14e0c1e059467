// Random bits with a counter offset by the replica id: one draw for all replicas.
#include "systole/hlo/analysis/match.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/passes/replicas/vectorizer.h"

namespace systole::hlo::replicas {
namespace {

constexpr uint64_t kBitsInBlock = 128;

uint64_t bits_of(const TensorType& type) {
  const auto width = static_cast<uint64_t>(dtype_info(type.dtype).bits);
  // Types below 32 bits take one 32-bit word each.
  return (width == 64 ? 64 : 32) * static_cast<uint64_t>(type.shape.num_elements());
}

Value skip_shapes(Value value) {
  while (value.def->is(Opcode::convert) || value.def->is(Opcode::reshape) ||
         value.def->is(Opcode::broadcast_in_dim)) {
    value = value.def->operand(0);
  }
  return value;
}

// Returns `blocks` if the value is replica_id * {0, blocks, 0}.
std::optional<uint64_t> blocks_a_replica(Value value) {
  if (!value.def->is(Opcode::multiply)) return std::nullopt;
  for (int side = 0; side < 2; ++side) {
    const Tensor* steps = constant_of(value.def->operand(side));
    const Value other = skip_shapes(value.def->operand(1 - side));
    if (steps == nullptr || steps->num_elements() != 3 || !other.def->is(Opcode::replica_id))
      continue;
    const auto step = steps->data<uint64_t>();
    if (step[0] == 0 && step[2] == 0) return step[1];
  }
  return std::nullopt;
}

// The draws of all replicas are consecutive in the stream of the state without replica_id.
}  // namespace

std::vector<Value> vectorize_rng_bit_generator(Vectorizer& v, Instruction& x) {
  const auto algorithm = x.attrs<RngBitGeneratorAttrs>().rng_algorithm;
  const Value state = x.operand(0);
  if (algorithm == RngAlgorithm::three_fry || !state.def->is(Opcode::add)) return {};
  const TensorType& drawn = x.results()[1];
  for (int side = 0; side < 2; ++side) {
    const Value common = state.def->operand(side);
    const auto blocks = blocks_a_replica(state.def->operand(1 - side));
    if (v.varying(common) || !blocks || *blocks * kBitsInBlock != bits_of(drawn)) continue;
    Value first = v.at(common);
    if (v.first_replica() > 0) {
      const uint64_t before = *blocks * static_cast<uint64_t>(v.first_replica());
      first = v.b().add(first, v.b().constant(Tensor::of<uint64_t>({3}, {0, before, 0})));
    }
    Instruction* const all = v.b().op(Opcode::rng_bit_generator, {first}, x.attrs(),
                                      {first.type(), v.stacked_type(drawn)});
    const Value step = v.b().constant(Tensor::of<uint64_t>({1, 3}, {0, *blocks, 0}));
    const Value states = v.at(state);
    return {v.b().add(states, v.b().broadcast(step, states.shape())), all->result(1)};
  }
  return {};
}

}  // namespace systole::hlo::replicas
