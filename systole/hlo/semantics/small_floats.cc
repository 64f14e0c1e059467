#include "systole/hlo/semantics/small_floats.h"

#include <algorithm>

#include "systole/base/error.h"
#include "systole/hlo/semantics/op_semantics.h"

namespace systole::hlo {
namespace {

bool is_small(const Value& value) { return is_small_float(value.dtype()); }

bool takes_or_gives_small_floats(const Instruction& x) {
  return std::ranges::any_of(x.operands(), is_small) ||
         std::ranges::any_of(x.results(),
                             [](const TensorType& type) { return is_small_float(type.dtype); });
}

bool region_has_small_floats(const Computation& region) {
  for (int i = 0; i < region.num_parameters(); ++i) {
    if (is_small(region.parameter(i))) return true;
  }
  return std::ranges::any_of(region.instructions(),
                             [](const Instruction* x) { return has_small_floats(*x); });
}

bool is_sum_of_products(const Instruction& x) {
  return x.is(Opcode::dot_general) || x.is(Opcode::convolution);
}

bool has_two_types(const Instruction& x) {
  return is_sum_of_products(x) && x.operand(0).dtype() != x.operand(1).dtype() &&
         !x.operand(0).type().is_quantized() && !x.operand(1).type().is_quantized();
}

// Copies codes, or runs computations that do.
bool takes_codes(const Instruction& x) {
  if (x.is(Opcode::select) || x.is(Opcode::convert) || x.is(Opcode::rng_bit_generator)) return true;
  const QuantizedForm form = quantization_of(x.opcode()).form;
  if (form == QuantizedForm::moves) return true;
  return form == QuantizedForm::own && (x.num_regions() == 0 || x.traits().has(kCapturing));
}

TensorType widened(TensorType type) {
  if (is_small_float(type.dtype)) type.dtype = DType::f32;
  return type;
}

// The type in which numbers of both are multiplied.
DType common_dtype(DType a, DType b) {
  if (a == b) return a;
  if (is_floating(a) != is_floating(b)) return is_floating(a) ? a : b;
  const DTypeInfo& x = dtype_info(a);
  const DTypeInfo& y = dtype_info(b);
  if (is_floating(a)) return x.bits == y.bits ? DType::f32 : x.bits > y.bits ? a : b;
  if (x.is_signed == y.is_signed && x.bits != y.bits) return x.bits > y.bits ? a : b;
  return std::max(x.bits, y.bits) == 64 ? DType::s64 : DType::s32;
}

class Widener {
 public:
  explicit Widener(const ValueMap& outer) : outer_(outer) {}

  // Copies `from` with f32 for small floats into the empty `to`.
  void region(const Computation& from, Computation& to) {
    for (int i = 0; i < from.num_parameters(); ++i) {
      const Value parameter = from.parameter(i);
      map_[parameter] = to.add_parameter(widened(parameter.type()), parameter.def->metadata());
    }
    for (const Instruction* x : from.instructions()) {
      if (x->is(Opcode::parameter) || x == from.terminator()) continue;
      Builder b(to);
      b.set_metadata(x->metadata());
      std::vector<Value> operands;
      for (const Value& operand : x->operands()) operands.push_back(mapped(operand, b));
      std::vector<Value> values = inside(*x, std::move(operands), b);
      for (size_t i = 0; i < values.size(); ++i) {
        map_[{const_cast<Instruction*>(x), static_cast<int>(i)}] = values[i];
      }
    }
    std::vector<Value> results;
    Builder b(to);
    for (const Value& value : from.results()) results.push_back(mapped(value, b));
    to.set_results(std::move(results));
  }

  std::vector<Value> copy(const Instruction& x, std::vector<Value> operands, Builder& b,
                          std::vector<TensorType> types) {
    Instruction& copy =
        *b.computation().insert(x.opcode(), std::move(operands), std::move(types), x.attrs());
    copy.set_metadata(b.metadata());
    for (const auto& from : x.regions()) region(*from, copy.add_region());
    std::vector<Value> values;
    for (int i = 0; i < copy.num_results(); ++i) values.push_back(copy.result(i));
    return values;
  }

 private:
  Value mapped(Value value, Builder& b) const {
    if (const auto found = map_.find(value); found != map_.end()) return found->second;
    const auto found = outer_.find(value);
    const Value captured = found == outer_.end() ? value : found->second;
    return is_small(captured) ? b.convert(captured, DType::f32) : captured;
  }

  std::vector<Value> inside(const Instruction& x, std::vector<Value> operands, Builder& b) {
    if (!has_small_floats(x)) return copy(x, std::move(operands), b, types_of(x));
    if (x.is(Opcode::constant)) {
      return {b.constant(x.attrs<ConstantAttrs>().value.cast(DType::f32))};
    }
    if (x.is(Opcode::convert)) {
      if (!is_small_float(x.dtype())) return {b.convert(operands[0], x.dtype())};
      return {b.convert(b.convert(operands[0], x.dtype()), DType::f32)};
    }
    if (x.is(Opcode::bitcast_convert) || x.is(Opcode::rng_bit_generator) ||
        x.is(Opcode::custom_call)) {
      throw unimplemented("{}: element types, got {} in a region on scalars, expected others",
                          x.opcode(), x.dtype());
    }
    std::vector<TensorType> types;
    for (const TensorType& type : x.results()) types.push_back(widened(type));
    return copy(x, std::move(operands), b, std::move(types));
  }

  static std::vector<TensorType> types_of(const Instruction& x) {
    return {x.results().begin(), x.results().end()};
  }

  const ValueMap& outer_;  // of values from outside
  ValueMap map_;
};

std::vector<Value> insert_product(const Instruction& x, std::vector<Value> operands, Builder& b) {
  DType dtype = common_dtype(operands[0].dtype(), operands[1].dtype());
  if (is_floating(dtype) && dtype_info(dtype).bits < 32) dtype = DType::f32;
  if (x.dtype() == DType::f64) dtype = DType::f64;
  for (Value& operand : operands) operand = b.convert(operand, dtype);
  const bool sums_integers = !is_floating(dtype) && !is_floating(x.dtype());
  const TensorType type{sums_integers ? x.dtype() : dtype, x.shape()};
  const Value product = b.op(x.opcode(), std::move(operands), x.attrs(), {type})->result();
  return {b.convert(product, x.dtype())};
}

}  // namespace

bool has_small_floats(const Instruction& instruction) {
  return takes_or_gives_small_floats(instruction) ||
         std::ranges::any_of(instruction.regions(),
                             [](const auto& region) { return region_has_small_floats(*region); });
}

bool needs_widening(const Instruction& instruction) {
  if (has_two_types(instruction)) return true;
  return !takes_codes(instruction) && takes_or_gives_small_floats(instruction);
}

std::vector<Value> insert_widened(const Instruction& instruction, std::vector<Value> operands,
                                  Builder& b, const ValueMap& outer) {
  for (Value& operand : operands) {
    if (is_small(operand)) operand = b.convert(operand, DType::f32);
  }
  if (is_sum_of_products(instruction)) return insert_product(instruction, std::move(operands), b);
  std::vector<TensorType> types;
  for (const TensorType& type : instruction.results()) types.push_back(widened(type));
  std::vector<Value> values =
      Widener(outer).copy(instruction, std::move(operands), b, std::move(types));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = b.convert(values[i], instruction.results()[i].dtype);
  }
  return values;
}

}  // namespace systole::hlo
