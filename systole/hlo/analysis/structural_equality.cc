#include "systole/hlo/analysis/structural_equality.h"

#include <absl/hash/hash.h>

#include <algorithm>
#include <string_view>

namespace systole::hlo {
namespace {

bool is_commutative_pair(const Instruction& instruction) {
  return instruction.traits().has(kCommutative) && instruction.num_operands() == 2;
}

class Comparison {
 public:
  bool equal(const Instruction& a, const Instruction& b) {
    return equal_operands(a, b) && same_function(a, b);
  }

  bool same_function(const Instruction& a, const Instruction& b) {
    if (a.opcode() != b.opcode() || !std::ranges::equal(a.results(), b.results())) return false;
    if (a.num_regions() != b.num_regions() || a.attrs() != b.attrs()) return false;
    for (int i = 0; i < a.num_regions(); ++i) {
      if (!equal(a.region(i), b.region(i))) return false;
    }
    return true;
  }

 private:
  bool equal(const Computation& a, const Computation& b) {
    if (a.num_instructions() != b.num_instructions()) return false;
    const std::vector<Instruction*> xs = a.instructions();
    const std::vector<Instruction*> ys = b.instructions();
    for (size_t i = 0; i < xs.size(); ++i) {
      if (!equal(*xs[i], *ys[i])) return false;
      for (int k = 0; k < xs[i]->num_results(); ++k) map_[xs[i]->result(k)] = ys[i]->result(k);
    }
    return true;
  }

  bool equal_operands(const Instruction& a, const Instruction& b) const {
    if (a.num_operands() != b.num_operands()) return false;
    bool same = true;
    for (int i = 0; same && i < a.num_operands(); ++i) {
      same = mapped(a.operand(i)) == b.operand(i);
    }
    return same || (is_commutative_pair(a) && mapped(a.operand(0)) == b.operand(1) &&
                    mapped(a.operand(1)) == b.operand(0));
  }

  Value mapped(Value value) const {
    const auto found = map_.find(value);
    return found == map_.end() ? value : found->second;
  }

  ValueMap map_;
};

size_t hash_of(Value value) { return ValueHash()(value); }

size_t hash_of(const TensorType& type, size_t hash) {
  return absl::HashOf(hash, static_cast<int>(type.dtype), type.shape.dims());
}

size_t hash_of_signature(const Instruction& instruction) {
  size_t hash = absl::HashOf(static_cast<int>(instruction.opcode()), instruction.num_results(),
                             instruction.num_operands());
  for (const TensorType& type : instruction.results()) hash = hash_of(type, hash);
  return hash;
}

// Samples a constant. Its type is hashed anyway, and the comparison looks at all elements.
size_t hash_of(const ConstantAttrs& constant) {
  constexpr int64_t kGlance = 256;
  const Tensor& value = constant.value;
  if (!is_numeric(value.dtype())) return 0;
  const auto size = static_cast<size_t>(std::min(value.byte_size(), kGlance));
  return absl::HashOf(std::string_view(static_cast<const char*>(value.raw()), size));
}

// Hashes the attributes that distinguish instructions of the same signature: the slices of an
// unrolled sequence differ in their starts, reducers and fusions in constants. The comparison looks
// at all attributes.
struct AttrsHash {
  size_t operator()(const ConstantAttrs& a) const { return hash_of(a); }
  size_t operator()(const SliceAttrs& a) const { return absl::HashOf(a.start_indices, a.strides); }
  size_t operator()(const PadAttrs& a) const {
    return absl::HashOf(a.edge_padding_low, a.interior_padding);
  }
  size_t operator()(const TransposeAttrs& a) const { return absl::HashOf(a.permutation); }
  size_t operator()(const BroadcastInDimAttrs& a) const {
    return absl::HashOf(a.broadcast_dimensions);
  }
  size_t operator()(const DimensionsAttrs& a) const { return absl::HashOf(a.dimensions); }
  size_t operator()(const CompareAttrs& a) const {
    return absl::HashOf(static_cast<int>(a.direction));
  }
  size_t operator()(const ParameterAttrs& a) const { return absl::HashOf(a.index); }
  template <class T>
  size_t operator()(const T&) const {
    return 0;
  }
};

// Compares everything except the operands.
size_t hash_of_function(const Instruction& instruction) {
  return absl::HashOf(hash_of_signature(instruction), std::visit(AttrsHash(), instruction.attrs()));
}

}  // namespace

bool structurally_equal(const Instruction& a, const Instruction& b) {
  return Comparison().equal(a, b);
}

bool same_function(const Instruction& a, const Instruction& b) {
  const auto same_type = [](const Value& x, const Value& y) { return x.type() == y.type(); };
  return std::ranges::equal(a.operands(), b.operands(), same_type) &&
         Comparison().same_function(a, b);
}

size_t function_hash(const Instruction& instruction) {
  size_t hash = hash_of_function(instruction);
  for (const Value& operand : instruction.operands()) hash = hash_of(operand.type(), hash);
  for (const auto& region : instruction.regions()) {
    for (const Instruction* inner : region->instructions())
      hash = absl::HashOf(hash, hash_of_function(*inner));
  }
  return hash;
}

size_t structural_hash(const Instruction& instruction) {
  size_t hash = hash_of_function(instruction);
  if (is_commutative_pair(instruction)) {
    const size_t a = hash_of(instruction.operand(0));
    const size_t b = hash_of(instruction.operand(1));
    hash = absl::HashOf(hash, std::min(a, b), std::max(a, b));
  } else {
    for (const Value& operand : instruction.operands()) hash = absl::HashOf(hash, hash_of(operand));
  }
  for (const auto& region : instruction.regions()) {
    hash = absl::HashOf(hash, region->num_instructions());
  }
  return hash;
}

}  // namespace systole::hlo
