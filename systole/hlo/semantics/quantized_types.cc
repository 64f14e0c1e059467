#include "systole/hlo/semantics/quantized_types.h"

#include <algorithm>

#include "systole/base/error.h"
#include "systole/base/quantized_type.h"

namespace systole::hlo {
namespace {

using TypeList = std::vector<TensorType>;

bool all_equal_elements(std::span<const TensorType> types, const TensorType& to) {
  return std::ranges::all_of(types, [&](const TensorType& type) {
    return type.dtype == to.dtype && same_quantization(type.quantized, to.quantized);
  });
}

bool has_scale_per_index(const TensorType& type) {
  return type.is_quantized() && type.quantized->per_axis();
}

void check_granularity(const InferContext& context) {
  if (quantization_of(context.opcode).per_axis) return;
  const auto check = [&](std::string_view what, size_t i, const TensorType& type) {
    if (!has_scale_per_index(type)) return;
    throw invalid_argument("{}: {} {}, got {}, expected one scale", context.opcode, what, i, type);
  };
  for (int i = 0; i < context.num_operands(); ++i)
    check("operand", static_cast<size_t>(i), context.operand(i));
  for (size_t i = 0; i < context.declared.size(); ++i) check("result", i, context.declared[i]);
}

TensorType expressed_type_of(const TensorType& type) {
  return type.is_quantized() ? TensorType{type.quantized->expressed, type.shape} : type;
}

template <class F>
TypeList map_types(std::span<const TensorType> types, F f) {
  TypeList result;
  for (const TensorType& type : types) result.push_back(f(type));
  return result;
}

TypeList operand_types(const InferContext& context) {
  TypeList types;
  for (int i = 0; i < context.num_operands(); ++i) types.push_back(context.operand(i));
  return types;
}

// Infers the op on operands and declared results of other types.
TypeList infer_on(const InferContext& context, const TypeList& operands, const TypeList& declared) {
  Module module;
  Computation& main = module.add_function("main");
  std::vector<Value> values;
  for (const TensorType& type : operands) values.push_back(main.add_parameter(type));
  return semantics_of(context.opcode)
      .infer({.opcode = context.opcode,
              .operands = values,
              .attrs = context.attrs,
              .regions = {},
              .declared = declared,
              .module = &module});
}

void expect_same_quantization(const InferContext& context, std::string_view what,
                              const TensorType& got, const TensorType& expected) {
  if (same_quantization(got.quantized, expected.quantized)) return;
  throw invalid_argument("{}: quantization of {}, got {}, expected that of {}", context.opcode,
                         what, got, expected);
}

// -- Ops that move integers

// The product of the sizes before `axis`.
int64_t elements_before(const Shape& shape, int axis) {
  int64_t count = 1;
  for (int i = 0; i < axis; ++i) count *= shape[i];
  return count;
}

// Returns the axis of the result that holds the operand's quantization dimension: as declared for
// reshape, which has no other source for it.
int moved_axis(const InferContext& context, const TensorType& result, int declared) {
  const TensorType& operand = context.operand(0);
  const int axis = operand.quantized->axis;
  if (context.opcode == Opcode::transpose) {
    const Dims& permutation = context.get<TransposeAttrs>().permutation;
    return static_cast<int>(std::ranges::find(permutation, axis) - permutation.begin());
  }
  if (context.opcode == Opcode::broadcast_in_dim) {
    const Dims& dimensions = context.get<BroadcastInDimAttrs>().broadcast_dimensions;
    return static_cast<int>(dimensions[axis]);
  }
  if (context.opcode == Opcode::reshape) {
    for (int to = 0; to < result.shape.rank(); ++to) {
      const bool here = declared < 0 || declared == to;
      if (here && result.shape[to] == operand.shape[axis] &&
          elements_before(result.shape, to) == elements_before(operand.shape, axis)) {
        return to;
      }
    }
    throw invalid_argument(
        "reshape: quantization dimension, got {} of {} reshaped to {}, expected an axis of one "
        "size with as many elements before it in both",
        axis, operand, result.shape);
  }
  throw internal_error("{}: operand, got {}, expected one scale", context.opcode, operand);
}

QuantizedTypePtr moved_quantization(const InferContext& context, const TensorType& result,
                                    const QuantizedTypePtr& declared) {
  const QuantizedTypePtr& from = context.operand(0).quantized;
  if (from == nullptr || !from->per_axis()) return from;
  QuantizedType moved = *from;
  moved.axis = moved_axis(context, result, declared == nullptr ? -1 : declared->axis);
  const auto size = static_cast<size_t>(result.shape[moved.axis]);
  if (context.opcode == Opcode::broadcast_in_dim && from->scales.size() == 1) {
    moved.scales.assign(size, from->scales[0]);
    moved.zero_points.assign(size, from->zero_points[0]);
  }
  return std::make_shared<const QuantizedType>(std::move(moved));
}

TypeList infer_moves(const InferContext& context) {
  const auto storage = [](const TensorType& type) { return type.storage(); };
  const TypeList operands = operand_types(context);
  TypeList types =
      infer_on(context, map_types(operands, storage), map_types(context.declared, storage));
  const bool free = context.opcode == Opcode::bitcast_convert || context.opcode == Opcode::constant;
  if (context.opcode == Opcode::get_dimension_size) return types;
  if (free) {
    if (context.declared.size() == 1) types[0].quantized = context.declared[0].quantized;
    return types;
  }
  const bool joins = context.opcode == Opcode::concatenate || context.opcode == Opcode::pad ||
                     context.opcode == Opcode::dynamic_update_slice;
  for (size_t i = 1; joins && i < operands.size(); ++i) {
    const bool start = context.opcode == Opcode::dynamic_update_slice && i > 1;
    if (!start)
      expect_same_quantization(context, fmt::format("operand {}", i), operands[i], operands[0]);
  }
  for (size_t i = 0; i < types.size(); ++i) {
    const bool declared = i < context.declared.size();
    types[i].quantized =
        moved_quantization(context, types[i], declared ? context.declared[i].quantized : nullptr);
  }
  return types;
}

// -- Ops that compute integers of one type

TypeList infer_integers(const InferContext& context) {
  const auto storage = [](const TensorType& type) { return type.storage(); };
  TypeList types = infer_on(context, map_types(operand_types(context), storage), {});
  types[0].quantized = context.operand(context.num_operands() - 1).quantized;
  return types;
}

// -- Products

void expect_equal_dtypes(const InferContext& context, std::string_view what, DType got,
                         DType expected) {
  if (got == expected) return;
  throw invalid_argument("{}: {}, got {}, expected {}", context.opcode, what, got, expected);
}

// The dimension of a product's result that rhs's `axis` becomes; -1 for a contracted one.
int result_axis(Opcode opcode, const Attrs& attrs, const Shape& lhs, const Shape& rhs, int axis) {
  if (opcode == Opcode::convolution) {
    const auto& convolution = std::get<ConvolutionAttrs>(attrs);
    if (axis != convolution.kernel_output_feature_dimension) return -1;
    return static_cast<int>(convolution.output_feature_dimension);
  }
  const auto& dot = std::get<DotAttrs>(attrs);
  const Dims& batching = dot.rhs_batching_dimensions;
  const Dims& contracting = dot.rhs_contracting_dimensions;
  const auto batch = std::ranges::find(batching, axis);
  if (batch != batching.end()) return static_cast<int>(batch - batching.begin());
  if (std::ranges::find(contracting, axis) != contracting.end()) return -1;
  int position = lhs.rank() - static_cast<int>(contracting.size());  // the batch and lhs's own
  for (int i = 0; i < axis && i < rhs.rank(); ++i) {
    const bool free = std::ranges::find(batching, i) == batching.end() &&
                      std::ranges::find(contracting, i) == contracting.end();
    position += free ? 1 : 0;
  }
  return position;
}

void check_product(const InferContext& context, const TensorType& result) {
  const TensorType& lhs = context.operand(0);
  const TensorType& rhs = context.operand(1);
  const QuantizedType& kernel = *rhs.quantized;
  if (has_scale_per_index(lhs)) {  // I1
    throw invalid_argument("{}: lhs, got {}, expected one scale", context.opcode, lhs);
  }
  if (context.opcode == Opcode::dot_general && kernel.has_zero_points()) {  // C15
    throw invalid_argument("dot_general: zero points of rhs, got {}, expected 0", rhs);
  }
  int channels = -1;
  if (kernel.per_axis()) {  // C16, C29
    channels = result_axis(context.opcode, context.attrs, lhs.shape, rhs.shape, kernel.axis);
    if (channels < 0) {
      throw invalid_argument(
          "{}: quantization dimension of rhs, got {} in {}, expected one that is not contracted",
          context.opcode, kernel.axis, rhs);
    }
  }
  if (!lhs.is_quantized()) {
    expect_equal_dtypes(context, "element type of lhs", lhs.dtype, kernel.expressed);  // C34, C20
    expect_equal_dtypes(context, "element type of result", result.dtype, kernel.expressed);
    return;
  }
  expect_equal_dtypes(context, "storage type of rhs", rhs.dtype, lhs.dtype);  // C31, C17
  if (!result.quantized->per_axis()) return;
  if (result.quantized->axis != channels) {  // C19, C33, C30
    throw invalid_argument("{}: quantization dimension of result, got {}, expected {}{}",
                           context.opcode, result.quantized->axis,
                           channels < 0 ? "none, as rhs has one scale" : "",
                           channels < 0 ? "" : std::to_string(channels));
  }
}

TypeList infer_product(const InferContext& context) {
  const TensorType& lhs = context.operand(0);
  const TensorType& rhs = context.operand(1);
  const TensorType& declared = context.declared_type();
  if (!rhs.is_quantized() || lhs.is_quantized() != declared.is_quantized()) {  // C14, C28
    throw invalid_argument(
        "{}: types, got {} and {} to {}, expected quantized ones, or a quantized rhs alone",
        context.opcode, lhs, rhs, declared);
  }
  const bool hybrid = !lhs.is_quantized();
  TypeList types =
      hybrid ? infer_on(context, {lhs, expressed_type_of(rhs)}, {declared})
             : infer_on(context, {lhs.storage(), {lhs.dtype, rhs.shape}}, {declared.storage()});
  types[0].quantized = declared.quantized;
  check_product(context, types[0]);
  return types;
}

// -- Ops on real numbers

bool may_be_real(const InferContext& context, int operand) {
  return context.operand(operand).dtype == DType::pred;
}

// Checks the quantization dimensions of an addition.
void check_scales(const InferContext& context, const TensorType& result) {
  bool any = false;
  for (int i = 0; i < context.num_operands(); ++i) {
    const TensorType& operand = context.operand(i);
    if (!has_scale_per_index(operand)) continue;
    any = true;
    if (has_scale_per_index(result) &&
        operand.quantized->axis != result.quantized->axis) {  // C6, C7
      throw invalid_argument("add: quantization dimension of result, got {}, expected {}",
                             result.quantized->axis, operand.quantized->axis);
    }
  }
  if (has_scale_per_index(result) != any) {  // C5
    throw invalid_argument("{}: result, got {}, expected {}", context.opcode, result,
                           any ? "a scale per index, as an operand has" : "one scale");
  }
}

// Checks that an elementwise op stores its quantized operands and its result in one type.
void check_storage(const InferContext& context, const TensorType& result) {
  if (!traits(context.opcode).has(kElementwise)) return;
  for (int i = 0; i < context.num_operands(); ++i) {
    const TensorType& operand = context.operand(i);
    if (!operand.is_quantized() || operand.dtype == result.dtype) continue;
    throw invalid_argument("{}: storage type of result, got {}, expected {} of operand {}",
                           context.opcode, result.dtype, operand.dtype, i);
  }
}

TypeList infer_real(const InferContext& context) {
  const TypeList operands = operand_types(context);
  for (int i = 0; i < context.num_operands(); ++i) {
    if (context.operand(i).is_quantized() || may_be_real(context, i)) continue;
    throw invalid_argument("{}: operand {}, got {}, expected a quantized type", context.opcode, i,
                           context.operand(i));
  }
  TypeList declared(context.declared.begin(), context.declared.end());
  if (declared.empty() && all_equal_elements(operands, operands[0]) &&
      context.opcode != Opcode::compare && context.opcode != Opcode::is_finite) {
    declared = {operands[0]};
  }
  TypeList types = infer_on(context, map_types(operands, expressed_type_of),
                            map_types(declared, expressed_type_of));
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i].dtype == DType::pred) continue;
    const bool quantized = i < declared.size() && declared[i].is_quantized();
    if (!quantized) {
      throw invalid_argument("{}: result {}, got {}, expected a declared quantized type",
                             context.opcode, i, i < declared.size() ? declared[i] : types[i]);
    }
    types[i] = {declared[i].dtype, types[i].shape, declared[i].quantized};
    check_storage(context, types[i]);
    check_scales(context, types[i]);
  }
  return types;
}

// Whether an op that picks or adds computes the integers of its operands.
bool computes_integers(Opcode opcode, QuantizedForm form, std::span<const TensorType> operands,
                       std::span<const TensorType> results) {
  const TensorType& last = operands.back();
  const std::span<const TensorType> values =
      opcode == Opcode::select ? operands.subspan(1) : operands;
  const bool one_type =
      last.is_quantized() && all_equal_elements(values, last) && all_equal_elements(results, last);
  if (!one_type) return false;
  if (form == QuantizedForm::picks) return !last.quantized->per_axis();
  return dtype_info(last.dtype).bits == 32 && !last.quantized->has_zero_points();
}

}  // namespace

std::optional<FixedPointRounding> rounding_of(const Module& module) {
  const auto found = module.attributes.find(std::string(kRoundingAttribute));
  if (found == module.attributes.end()) return std::nullopt;
  if (found->second == "\"tflite\"") return FixedPointRounding::tflite;
  if (found->second == "\"single\"") return FixedPointRounding::single;
  throw invalid_argument("module: {}, got {}, expected \"tflite\" or \"single\"",
                         kRoundingAttribute, found->second);
}

QuantizedRule quantized_rule(Opcode opcode, std::span<const TensorType> operands,
                             std::span<const TensorType> results) {
  const QuantizedForm form = quantization_of(opcode).form;
  switch (form) {
    case QuantizedForm::none:
      throw unimplemented("{}: operands, got {}, expected none with a quantized type", opcode,
                          operands.empty() ? results[0] : operands[0]);
    case QuantizedForm::moves:
      return QuantizedRule::moves;
    case QuantizedForm::products:
      return QuantizedRule::product;
    case QuantizedForm::own:
      return QuantizedRule::own;
    case QuantizedForm::real:
      return QuantizedRule::real;
    case QuantizedForm::picks:
    case QuantizedForm::adds:
      return computes_integers(opcode, form, operands, results) ? QuantizedRule::integers
                                                                : QuantizedRule::real;
  }
  throw internal_error("{}: got an unknown form for quantized types", opcode);
}

bool is_quantized(const Instruction& instruction) {
  const auto quantized = [](const TensorType& type) { return type.is_quantized(); };
  return std::ranges::any_of(instruction.results(), quantized) ||
         std::ranges::any_of(instruction.operands(),
                             [](const Value& value) { return value.type().is_quantized(); });
}

bool is_quantized(const InferContext& context) {
  const auto quantized = [](const TensorType& type) { return type.is_quantized(); };
  return std::ranges::any_of(context.declared, quantized) ||
         std::ranges::any_of(context.operands,
                             [](const Value& value) { return value.type().is_quantized(); });
}

std::vector<TensorType> infer_quantized(const InferContext& context) {
  const TypeList operands = operand_types(context);
  for (const TensorType& type : context.declared) {
    check_quantization(to_string(context.opcode), type);
  }
  check_granularity(context);
  switch (quantized_rule(context.opcode, operands, context.declared)) {
    case QuantizedRule::moves:
      return infer_moves(context);
    case QuantizedRule::integers:
      return infer_integers(context);
    case QuantizedRule::product:
      return infer_product(context);
    case QuantizedRule::own:
      return semantics_of(context.opcode).infer(context);
    case QuantizedRule::real:
      return infer_real(context);
  }
  throw internal_error("{}: got an unknown rule for quantized types", context.opcode);
}

int product_result_axis(const Instruction& product, int axis) {
  return result_axis(product.opcode(), product.attrs(), product.operand(0).shape(),
                     product.operand(1).shape(), axis);
}

int product_channel_axis(const Instruction& product) {
  const TensorType& rhs = product.operand(1).type();
  if (!rhs.is_quantized() || !rhs.quantized->per_axis()) return -1;
  return product_result_axis(product, rhs.quantized->axis);
}

bool uses_fixed_point(const Instruction& instruction) {
  if (!instruction.is(Opcode::add) && !instruction.is(Opcode::multiply)) return false;
  const auto narrow = [](const TensorType& type) {
    return type.is_quantized() && !type.quantized->per_axis() && dtype_info(type.dtype).bits <= 16;
  };
  return narrow(instruction.operand(0).type()) && narrow(instruction.operand(1).type()) &&
         narrow(instruction.type());
}

}  // namespace systole::hlo
