#include <algorithm>
#include <cstring>

#include "systole/hlo/passes/partition/partitioner.h"
#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/semantics/reducer.h"

namespace systole::hlo::spmd {
namespace {

bool is_splat(const Tensor& tensor) {
  const auto size = static_cast<size_t>(size_of(tensor.dtype()));
  const auto* const bytes = static_cast<const std::byte*>(tensor.raw());
  const auto count = static_cast<size_t>(tensor.num_elements());
  return count > 0 && std::memcmp(bytes, bytes + size, size * (count - 1)) == 0;
}

std::vector<Value> write_constant(Partitioner& p, Instruction& x) {
  const Tensor& value = x.attrs<ConstantAttrs>().value;
  const Layout& layout = p.layout_of(x.result());
  if (!layout.is_replicated() && is_splat(value)) {
    const Value scalar = p.b().constant(element(value, 0));
    return {p.b().broadcast_in_dim(scalar, p.type_of(x.result()).shape, {})};
  }
  const Value whole = p.b().op(x.opcode(), {}, x.attrs(), {x.type()})->result();
  return {p.moved(whole, p.grid().replicated(x.shape().rank()), x.result())};
}

std::vector<Value> write_iota(Partitioner& p, Instruction& x) {
  const auto d = static_cast<int>(x.attrs<IotaAttrs>().iota_dimension);
  const TensorType type = p.type_of(x.result());
  const Value part = p.b().op(x.opcode(), {}, x.attrs(), {type})->result();
  const Atoms& atoms = p.layout_of(x.result()).dims[d];
  if (atoms.empty()) return {part};
  const Value start = p.resharder().index(p.b(), atoms, type.shape[d]);
  return {p.b().add(part, p.b().broadcast(p.b().convert(start, type.dtype), type.shape))};
}

std::vector<Value> write_dimension_size(Partitioner& p, Instruction& x) {
  const auto d = static_cast<int>(x.attrs<GetDimensionSizeAttrs>().dimension);
  return {p.b().scalar(x.dtype(), static_cast<double>(x.operand(0).shape()[d]))};
}

// Devices may draw other numbers.
std::vector<Value> write_rng(Partitioner& p, Instruction& x) {
  std::vector<Value> operands;
  for (const Value& operand : x.operands()) operands.push_back(p.whole(operand));
  const Value own = p.b().op(x.opcode(), operands, x.attrs(), {x.type()})->result();
  const Value drawn = p.resharder().from_first_device(p.b(), own);
  return {p.moved(drawn, p.grid().replicated(x.shape().rank()), x.result())};
}

ShardingRule with_writer(ShardingRule rule,
                         std::vector<Value> (*write)(Partitioner&, Instruction&)) {
  rule.write = write;
  return rule;
}

}  // namespace

ShardingRule shard_constant(const Instruction& x) {
  return with_writer(shard_alike(x), write_constant);
}
ShardingRule shard_iota(const Instruction& x) { return with_writer(shard_alike(x), write_iota); }
ShardingRule shard_get_dimension_size(const Instruction& x) {
  return with_writer(empty_rule(x), write_dimension_size);
}
ShardingRule shard_rng(const Instruction& x) { return with_writer(empty_rule(x), write_rng); }

}  // namespace systole::hlo::spmd
