#include "systole/hlo/ir/builder.h"

#include <algorithm>
#include <limits>

#include "systole/base/convert.h"
#include "systole/base/error.h"
#include "systole/base/small_float.h"
#include "systole/hlo/ir/infer.h"

namespace systole::hlo {
namespace {

// The identity of `reducer`, as a kind of number of the element type.
enum class Identity : uint8_t { zero, one, lowest, highest, all_ones };

struct IdentityRow {
  Opcode reducer;
  Identity identity;
};
constexpr IdentityRow kIdentities[] = {
    {Opcode::add, Identity::zero},       {Opcode::multiply, Identity::one},
    {Opcode::maximum, Identity::lowest}, {Opcode::minimum, Identity::highest},
    {Opcode::and_, Identity::all_ones},  {Opcode::or_, Identity::zero},
    {Opcode::xor_, Identity::zero},
};

// The limit of T's range; an infinity for floating types.
template <class T>
T range_end(bool highest) {
  if constexpr (std::is_same_v<T, bool>) {
    return highest;
  } else if constexpr (convert_detail::is_real_float_type<T>) {
    const float infinity = std::numeric_limits<float>::infinity();
    return T(highest ? infinity : -infinity);
  } else if constexpr (convert_detail::is_complex_type<T>) {
    throw invalid_argument("identity: dtype, got {}, expected an ordered one", dtype_of<T>());
  } else {
    using Range = convert_detail::IntegerRange<T>;
    return highest ? T(Range::highest) : T(Range::lowest);
  }
}

template <class T>
T identity_element(Identity identity) {
  switch (identity) {
    case Identity::lowest:
      return range_end<T>(false);
    case Identity::highest:
      return range_end<T>(true);
    case Identity::one:
      return T(1);
    case Identity::all_ones:
      // In two's complement, 0 - 1 is all ones for signed and unsigned types.
      if constexpr (std::is_same_v<T, bool>) return true;
      return convert_element<T>(int64_t{-1});
    default:
      return T(0);
  }
}

// The ends of types without infinities are their largest numbers.
double small_float_identity(Identity identity, DType dtype) {
  const SmallFloatFormat& format = small_float_format(dtype);
  const bool is_scale = format.range == SmallFloatRange::scale;
  const double infinity = std::numeric_limits<double>::infinity();
  const double highest = format.range == SmallFloatRange::ieee
                             ? infinity
                             : double{small_float_values(dtype)[format.largest()]};
  switch (identity) {
    case Identity::one:
      return 1;
    case Identity::highest:
      return highest;
    case Identity::lowest:
      return is_scale ? double{small_float_values(dtype)[0]} : -highest;
    default:
      if (is_scale) throw invalid_argument("identity: dtype, got {}, expected one with 0", dtype);
      return 0;
  }
}

}  // namespace

// -- Any opcode

Instruction* Builder::op(Opcode opcode, std::vector<Value> operands, Attrs attrs,
                         std::vector<TensorType> declared) {
  return op_with_regions(opcode, std::move(operands), std::move(attrs), nullptr,
                         std::move(declared));
}

Instruction* Builder::op_with_regions(Opcode opcode, std::vector<Value> operands, Attrs attrs,
                                      const std::function<void(Instruction&)>& fill,
                                      std::vector<TensorType> declared) {
  Instruction* instruction =
      computation_->insert(opcode, std::move(operands), {}, std::move(attrs), before_);
  instruction->set_metadata(metadata_);
  try {
    if (fill) fill(*instruction);
    instruction->results_ = infer_types({.opcode = opcode,
                                         .operands = instruction->operands(),
                                         .attrs = instruction->attrs(),
                                         .regions = instruction->regions(),
                                         .declared = declared,
                                         .module = &computation_->module()});
  } catch (const Error& error) {
    computation_->erase(instruction);
    const std::string source = metadata_.to_string();
    if (source.empty()) throw;
    throw error.with_context(source);
  }
  return instruction;
}

// -- Leaves

Value Builder::unary(Opcode opcode, Value x) { return op(opcode, {x})->result(); }

Value Builder::binary(Opcode opcode, Value x, Value y) { return op(opcode, {x, y})->result(); }

Value Builder::constant(Tensor value) {
  return op(Opcode::constant, {}, ConstantAttrs{std::move(value)})->result();
}

Value Builder::scalar(DType dtype, double value) {
  return constant(Tensor::full(dtype, {}, value));
}

Value Builder::splat(const TensorType& type, double value) {
  const Value x = scalar(type.dtype, value);
  return type.shape.rank() == 0 ? x : broadcast_in_dim(x, type.shape, {});
}

Value Builder::iota(const TensorType& type, int64_t dimension) {
  return op(Opcode::iota, {}, IotaAttrs{dimension}, {type})->result();
}

// -- Elementwise

Value Builder::convert(Value x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return op(Opcode::convert, {x}, NoAttrs{}, {TensorType{dtype, x.shape()}})->result();
}

Value Builder::compare(Value x, Value y, ComparisonDirection direction) {
  return op(Opcode::compare, {x, y}, CompareAttrs{.direction = direction})->result();
}

Value Builder::select(Value condition, Value on_true, Value on_false) {
  return op(Opcode::select, {condition, on_true, on_false})->result();
}

// -- Data movement

Value Builder::broadcast_in_dim(Value x, const Shape& shape, Dims broadcast_dimensions) {
  return op(Opcode::broadcast_in_dim, {x}, BroadcastInDimAttrs{std::move(broadcast_dimensions)},
            {TensorType{x.dtype(), shape}})
      ->result();
}

Value Builder::broadcast(Value x, const Shape& shape) {
  if (x.shape() == shape) return x;
  Dims dimensions;
  for (int i = 0; i < x.shape().rank(); ++i) {
    dimensions.push_back(shape.rank() - x.shape().rank() + i);
  }
  return broadcast_in_dim(x, shape, std::move(dimensions));
}

Value Builder::reshape(Value x, const Shape& shape) {
  return op(Opcode::reshape, {x}, NoAttrs{}, {TensorType{x.dtype(), shape}})->result();
}

Value Builder::transpose(Value x, Dims permutation) {
  return op(Opcode::transpose, {x}, TransposeAttrs{std::move(permutation)})->result();
}

Value Builder::slice(Value x, Dims start, Dims limit, Dims strides) {
  if (strides.empty()) strides.assign(start.size(), 1);
  return op(Opcode::slice, {x}, SliceAttrs{std::move(start), std::move(limit), std::move(strides)})
      ->result();
}

Value Builder::pad(Value x, Value padding_value, Dims low, Dims high, Dims interior) {
  if (interior.empty()) interior.assign(low.size(), 0);
  return op(Opcode::pad, {x, padding_value},
            PadAttrs{std::move(low), std::move(high), std::move(interior)})
      ->result();
}

Value Builder::concatenate(std::span<const Value> values, int64_t dimension) {
  return op(Opcode::concatenate, {values.begin(), values.end()}, ConcatenateAttrs{dimension})
      ->result();
}

Value Builder::reverse(Value x, Dims dimensions) {
  return op(Opcode::reverse, {x}, DimensionsAttrs{std::move(dimensions)})->result();
}

Value Builder::dynamic_slice(Value x, std::span<const Value> starts, Dims sizes) {
  std::vector<Value> operands{x};
  operands.insert(operands.end(), starts.begin(), starts.end());
  return op(Opcode::dynamic_slice, std::move(operands), DynamicSliceAttrs{std::move(sizes)})
      ->result();
}

Value Builder::dynamic_update_slice(Value x, Value update, std::span<const Value> starts) {
  std::vector<Value> operands{x, update};
  operands.insert(operands.end(), starts.begin(), starts.end());
  return op(Opcode::dynamic_update_slice, std::move(operands))->result();
}

// -- Reductions and products

Value Builder::reduce(Value x, Opcode reducer, Dims dimensions) {
  const Value initial = identity(reducer, x.dtype());
  return op_with_regions(
             Opcode::reduce, {x, initial}, DimensionsAttrs{std::move(dimensions)},
             [&](Instruction& reduce) { fill_reducer(reduce.add_region(), reducer, x.dtype()); })
      ->result();
}

Value Builder::identity(Opcode reducer, DType dtype) {
  const auto row = std::ranges::find(kIdentities, reducer, &IdentityRow::reducer);
  if (row == std::end(kIdentities)) {
    throw invalid_argument("identity: reducer, got '{}', expected one with an identity", reducer);
  }
  if (is_small_float(dtype)) {
    return scalar(dtype, small_float_identity(row->identity, dtype));
  }
  return constant(visit_dtype(
      dtype, [&]<class T>() { return Tensor::of<T>({}, {identity_element<T>(row->identity)}); }));
}

Value Builder::dot_general(Value x, Value y, DotAttrs attrs, DType result_dtype) {
  std::vector<TensorType> declared;
  if (result_dtype != DType::invalid) {
    const std::vector<Value> operands{x, y};
    const Attrs any = attrs;
    declared = infer_types({.opcode = Opcode::dot_general,
                            .operands = operands,
                            .attrs = any,
                            .regions = {},
                            .declared = {},
                            .module = &computation_->module()});
    declared[0].dtype = result_dtype;
  }
  return op(Opcode::dot_general, {x, y}, std::move(attrs), std::move(declared))->result();
}

void fill_reducer(Computation& region, Opcode reducer, DType dtype) {
  const Value a = region.add_parameter({dtype, {}});
  const Value b = region.add_parameter({dtype, {}});
  region.set_results({Builder(region).binary(reducer, a, b)});
}

std::optional<Opcode> match_reducer(const Computation& region) {
  if (region.num_parameters() != 2 || region.num_instructions() != 4) return std::nullopt;
  if (!region.has_results() || region.results().size() != 1) return std::nullopt;
  const Instruction& op = *region.results()[0].def;
  const bool binary = op.traits().has(kElementwise) && op.num_operands() == 2 &&
                      std::holds_alternative<NoAttrs>(op.attrs());
  if (!binary || &op.parent() != &region || op.dtype() != region.parameter(0).dtype()) {
    return std::nullopt;
  }
  if (op.operand(0) != region.parameter(0) || op.operand(1) != region.parameter(1)) {
    return std::nullopt;
  }
  return op.opcode();
}

}  // namespace systole::hlo
