#include "systole/hlo/passes/expand_small_floats.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "systole/base/small_float.h"
#include "systole/hlo/ir/placement.h"
#include "systole/hlo/semantics/small_floats.h"

namespace systole::hlo {
namespace {

constexpr uint32_t kInfinityBits = 0x7f800000;
constexpr uint32_t kNanBits = 0x7fc00000;
constexpr uint32_t kMagnitudeBits = 0x7fffffff;
constexpr int kMantissaBits = 23;
constexpr int kBias = 127;

TensorType code_type(TensorType type) {
  if (is_small_float(type.dtype)) type.dtype = DType::u8;
  return type;
}

bool any_small(const Computation& computation) {
  for (int i = 0; i < computation.num_parameters(); ++i) {
    if (is_small_float(computation.parameter(i).dtype())) return true;
  }
  return std::ranges::any_of(computation.instructions(), [](const Instruction* x) {
    return has_small_floats(*x) || needs_widening(*x) ||
           std::ranges::any_of(x->regions(), [](const auto& region) { return any_small(*region); });
  });
}

// Arithmetic on arrays of u32.
class Bits {
 public:
  Bits(Builder& b, Value x) : b_(&b), x_(x) {}

  Value value() const { return x_; }
  Bits op(Opcode opcode, Bits other) const { return {*b_, b_->binary(opcode, x_, other.x_)}; }
  Bits op(Opcode opcode, uint32_t number) const { return op(opcode, splat(number)); }
  Bits splat(uint32_t number) const { return {*b_, b_->splat_like(x_, number)}; }
  Bits select(Value condition, Bits otherwise) const {
    return {*b_, b_->select(condition, x_, otherwise.x_)};
  }
  Value is(uint32_t number) const { return compare(ComparisonDirection::eq, number); }
  Value above(uint32_t number) const { return compare(ComparisonDirection::gt, number); }
  Value below(uint32_t number) const { return compare(ComparisonDirection::lt, number); }
  Value real() const {
    return b_->op(Opcode::bitcast_convert, {x_}, NoAttrs{}, {{DType::f32, x_.shape()}})->result();
  }
  static Bits of_real(Builder& b, Value x) {
    return {b, b.op(Opcode::bitcast_convert, {x}, NoAttrs{}, {{DType::u32, x.shape()}})->result()};
  }

 private:
  Value compare(ComparisonDirection direction, uint32_t number) const {
    return b_->compare(x_, splat(number).x_, direction);
  }

  Builder* b_;
  Value x_;
};

// -- Codes to f32

Value decode_scale(Bits code) {
  const Bits power = code.op(Opcode::shift_left, kMantissaBits);
  const Bits small = code.splat(1U << (kMantissaBits - 1)).select(code.is(0), power);
  return code.splat(kNanBits).select(code.is(255), small).real();
}

// Numbers whose magnitude is above the largest.
Bits with_specials(const SmallFloatFormat& format, Bits magnitude, Bits bits) {
  const auto largest = static_cast<uint32_t>(format.largest());
  if (format.range == SmallFloatRange::nan) {
    return bits.splat(kNanBits).select(magnitude.above(largest), bits);
  }
  if (format.range != SmallFloatRange::ieee) return bits;
  const Bits special =
      bits.splat(kInfinityBits).select(magnitude.is(largest + 1), bits.splat(kNanBits));
  return special.select(magnitude.above(largest), bits);
}

Value decode(Builder& b, Value codes, DType dtype) {
  const SmallFloatFormat& format = small_float_format(dtype);
  const Bits code(b, b.convert(codes, DType::u32));
  if (format.range == SmallFloatRange::scale) return decode_scale(code);
  const auto sign_bit = static_cast<uint32_t>(format.sign_bit());
  const auto shift = static_cast<uint32_t>(kMantissaBits - format.mantissa_bits);
  const Bits magnitude = code.op(Opcode::and_, sign_bit - 1);
  const Bits normal =
      magnitude.op(Opcode::shift_left, shift)
          .op(Opcode::add, static_cast<uint32_t>(kBias - format.bias) << kMantissaBits);
  const Value wide = b.convert(magnitude.value(), DType::f32);
  const double unit = std::ldexp(1.0, 1 - format.bias - format.mantissa_bits);
  const Bits subnormal = Bits::of_real(b, b.multiply(wide, b.splat_like(wide, unit)));
  Bits bits = subnormal.select(magnitude.below(1U << format.mantissa_bits), normal);
  bits = with_specials(format, magnitude, bits);
  const auto to_top = static_cast<uint32_t>(31 - format.exponent_bits - format.mantissa_bits);
  bits = bits.op(Opcode::or_, code.op(Opcode::and_, sign_bit).op(Opcode::shift_left, to_top));
  if (format.range == SmallFloatRange::fnuz) {
    bits = bits.splat(kNanBits).select(code.is(sign_bit), bits);
  }
  return bits.real();
}

// -- f32 to codes

Value encode_scale(Builder& b, Bits bits) {
  // Half a power is the mantissa's first bit; ties go up. Subnormal numbers are around the smallest
  // code, 2^-127.
  constexpr uint32_t kHalf = 1U << (kMantissaBits - 1);
  const Bits normal = bits.op(Opcode::add, kHalf).op(Opcode::shift_right_logical, kMantissaBits);
  const Bits subnormal = bits.splat(1).select(bits.above(kHalf), bits.splat(0));
  Bits code = subnormal.select(bits.below(1U << kMantissaBits), normal);
  code = code.op(Opcode::minimum, 255);
  code = code.splat(255).select(bits.above(kInfinityBits), code);  // NaN and signs
  code = code.splat(255).select(bits.is(0), code);
  return b.convert(code.value(), DType::u8);
}

// The code of a finite magnitude or infinity, which may be above the largest.
Bits magnitude_code(Builder& b, const SmallFloatFormat& format, Bits magnitude) {
  const auto dropped = static_cast<uint32_t>(kMantissaBits - format.mantissa_bits);
  const Bits odd = magnitude.op(Opcode::shift_right_logical, dropped).op(Opcode::and_, 1);
  const Bits normal =
      magnitude.op(Opcode::add, (1U << (dropped - 1)) - 1)
          .op(Opcode::add, odd)
          .op(Opcode::shift_right_logical, dropped)
          .op(Opcode::subtract, static_cast<uint32_t>(kBias - format.bias) << format.mantissa_bits);
  // A subnormal number's code is its count of units of the smallest number. Rounding up may give
  // the code after the last subnormal one, which is that of the smallest normal number.
  const Value real = magnitude.real();
  const double units = std::ldexp(1.0, format.bias - 1 + format.mantissa_bits);
  const Value rounded =
      b.unary(Opcode::round_nearest_even, b.multiply(real, b.splat_like(real, units)));
  const Bits subnormal(b, b.convert(rounded, DType::u32));
  const auto least = static_cast<uint32_t>(format.least_exponent() + kBias) << kMantissaBits;
  return subnormal.select(magnitude.below(least), normal);
}

Value encode(Builder& b, Value x, DType dtype) {
  const SmallFloatFormat& format = small_float_format(dtype);
  const Bits bits = Bits::of_real(b, x);
  if (format.range == SmallFloatRange::scale) return encode_scale(b, bits);
  const auto sign_bit = static_cast<uint32_t>(format.sign_bit());
  const auto to_top = static_cast<uint32_t>(31 - format.exponent_bits - format.mantissa_bits);
  const Bits magnitude = bits.op(Opcode::and_, kMagnitudeBits);
  const Bits sign = bits.op(Opcode::shift_right_logical, to_top).op(Opcode::and_, sign_bit);
  Bits code = magnitude_code(b, format, magnitude);
  code = code.splat(static_cast<uint32_t>(format.overflow()))
             .select(code.above(static_cast<uint32_t>(format.largest())), code);
  Bits with_sign = code.op(Opcode::or_, sign);
  if (format.range == SmallFloatRange::fnuz) {
    with_sign = code.select(code.is(0), with_sign);
  }
  const Bits nan = format.nan() < 0 ? sign.op(Opcode::xor_, sign_bit)
                                    : sign.op(Opcode::or_, static_cast<uint32_t>(format.nan()));
  with_sign = nan.select(magnitude.above(kInfinityBits), with_sign);
  return b.convert(with_sign.value(), DType::u8);
}

Tensor codes_of(const Tensor& value) {
  Tensor codes(DType::u8, value.shape());
  if (value.byte_size() > 0) {
    std::memcpy(codes.raw(), value.raw(), static_cast<size_t>(value.byte_size()));
  }
  return codes;
}

// -- Modules

// Copies computations. In the first of two walks, `widens`, ops that compute get f32 and
// conversions; in the second, only ops on codes and conversions are left.
class SmallFloatExpander {
 public:
  explicit SmallFloatExpander(bool widens) : widens_(widens) {}

  std::unique_ptr<Module> run(const Module& from) {
    auto to = std::make_unique<Module>(from.name());
    for (const auto& function : from.functions()) {
      Computation& copy = to->add_function(function->name());
      expand(*function, copy);
      copy.attributes() = function->attributes();
    }
    to->aliases = from.aliases;
    to->attributes = from.attributes;
    return to;
  }

 private:
  TensorType type_of(const TensorType& type) const { return widens_ ? type : code_type(type); }

  void expand(const Computation& from, Computation& to) {
    for (int i = 0; i < from.num_parameters(); ++i) {
      const Value parameter = from.parameter(i);
      map_[parameter] = to.add_parameter(type_of(parameter.type()), parameter.def->metadata());
    }
    for (Instruction* x : from.instructions()) {
      if (x->is(Opcode::parameter) || x == from.terminator()) continue;
      Builder b(to);
      b.set_metadata(x->metadata());
      std::vector<Value> operands;
      for (const Value& operand : x->operands()) operands.push_back(map_.at(operand));
      const std::vector<Value> values = expanded(*x, std::move(operands), b);
      for (size_t i = 0; i < values.size(); ++i) map_[x->result(static_cast<int>(i))] = values[i];
    }
    // A function without a body has no results.
    if (!from.has_results()) return;
    std::vector<Value> results;
    for (const Value& value : from.results()) results.push_back(map_.at(value));
    to.set_results(std::move(results));
    to.terminator()->set_metadata(from.terminator()->metadata());
  }

  std::vector<Value> expanded(const Instruction& x, std::vector<Value> operands, Builder& b) {
    if (widens_) {
      if (needs_widening(x)) return insert_widened(x, std::move(operands), b, map_);
    } else if (has_small_floats(x)) {
      return on_codes(x, std::move(operands), b);
    }
    return copied(x, std::move(operands), b, x.attrs());
  }

  std::vector<Value> on_codes(const Instruction& x, std::vector<Value> operands, Builder& b) {
    if (x.is(Opcode::constant)) {
      return {b.constant(codes_of(x.attrs<ConstantAttrs>().value))};
    }
    if (x.is(Opcode::convert)) {
      Value value = operands[0];
      if (is_small_float(x.operand(0).dtype())) value = decode(b, value, x.operand(0).dtype());
      if (!is_small_float(x.dtype())) return {b.convert(value, x.dtype())};
      return {encode(b, b.convert(value, DType::f32), x.dtype())};
    }
    if (x.is(Opcode::bitcast_convert)) return {bitcast(x, operands[0], b)};
    const bool is_call = x.is(Opcode::custom_call) && !is_placement(x);
    std::vector<Value> values =
        copied(x, std::move(operands), b, is_call ? Attrs(with_types(x)) : x.attrs());
    for (size_t i = 0; i < values.size() && x.is(Opcode::rng_bit_generator); ++i) {
      if (x.results()[i].dtype != DType::f4e2m1fn) continue;
      values[i] = b.binary(Opcode::and_, values[i], b.splat_like(values[i], 15));
    }
    return values;
  }

  // As bits of the type's width.
  static Value bitcast(const Instruction& x, Value value, Builder& b) {
    const auto integer_of = [](DType dtype) {
      if (!is_small_float(dtype)) return dtype;
      return dtype_info(dtype).bits == 4 ? DType::u4 : DType::u8;
    };
    const DType from = integer_of(x.operand(0).dtype());
    const DType to = integer_of(x.dtype());
    value = b.convert(value, from);
    if (from != to) {
      value =
          b.op(Opcode::bitcast_convert, {value}, NoAttrs{}, {TensorType{to, x.shape()}})->result();
    }
    return is_small_float(x.dtype()) ? b.convert(value, DType::u8) : value;
  }

  // The target gets codes, and is told of what.
  static CustomCallAttrs with_types(const Instruction& x) {
    std::string names;
    const auto add = [&](const TensorType& type) {
      if (!names.empty()) names += ' ';
      names += dtype_info(type.dtype).mlir_name;
    };
    for (const Value& operand : x.operands()) add(operand.type());
    for (const TensorType& result : x.results()) add(result);
    CustomCallAttrs attrs = x.attrs<CustomCallAttrs>();
    attrs.others.push_back({std::string(kElementTypesAttribute), {"\"" + names + "\""}});
    return attrs;
  }

  std::vector<Value> copied(const Instruction& x, std::vector<Value> operands, Builder& b,
                            Attrs attrs) {
    std::vector<TensorType> results;
    for (const TensorType& type : x.results()) results.push_back(type_of(type));
    Instruction& copy = *b.computation().insert(x.opcode(), std::move(operands), std::move(results),
                                                std::move(attrs));
    copy.set_metadata(x.metadata());
    for (const auto& region : x.regions()) expand(*region, copy.add_region());
    std::vector<Value> values;
    for (int i = 0; i < copy.num_results(); ++i) values.push_back(copy.result(i));
    return values;
  }

  const bool widens_;
  ValueMap map_;
};

}  // namespace

bool has_small_floats(const Module& module) {
  return std::ranges::any_of(module.functions(),
                             [](const auto& function) { return any_small(*function); });
}

std::unique_ptr<Module> expand_small_floats(const Module& module) {
  return SmallFloatExpander(false).run(*SmallFloatExpander(true).run(module));
}

}  // namespace systole::hlo
