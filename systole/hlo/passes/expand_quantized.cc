#include "systole/hlo/passes/expand_quantized.h"

#include <algorithm>

#include "systole/base/error.h"
#include "systole/hlo/passes/quantized_builder.h"
#include "systole/hlo/semantics/checks.h"
#include "systole/hlo/semantics/evaluator.h"
#include "systole/hlo/semantics/quantized.h"

namespace systole::hlo {
namespace {

using Types = std::vector<TensorType>;

bool any_quantized(const Computation& computation) {
  return std::ranges::any_of(computation.instructions(), [](const Instruction* x) {
    return is_quantized(*x) || std::ranges::any_of(x->regions(), [](const auto& region) {
             return any_quantized(*region);
           });
  });
}

Types types_of_operands(const Instruction& x) {
  Types types;
  for (const Value& operand : x.operands()) types.push_back(operand.type());
  return types;
}

TensorType real_type(const TensorType& type) {
  return type.is_quantized() ? TensorType{type.quantized->expressed, type.shape} : type;
}

// Returns the sums of `x` over `axes`, as s32.
Tensor sums_of(const Tensor& x, const Dims& axes) {
  Module module;
  Computation& main = module.add_function("main");
  Builder b(main);
  const Value parameter = main.add_parameter(x.type());
  main.set_results({b.reduce(b.convert(parameter, DType::s32), Opcode::add, axes)});
  return Evaluator().run(main, std::vector<Tensor>{x})[0];
}

class Expander {
 public:
  Expander(const Module& from, Module& to) : rounding_(rounding_of(from)), from_(from), to_(to) {}

  void run() {
    for (const auto& function : from_.functions()) {
      Computation& copy = to_.add_function(function->name());
      expand(*function, copy);
      copy.attributes() = function->attributes();
    }
    to_.aliases = from_.aliases;
    to_.attributes = from_.attributes;
  }

 private:
  void expand(const Computation& from, Computation& to) {
    for (int i = 0; i < from.num_parameters(); ++i) {
      const Value parameter = from.parameter(i);
      map_[parameter] = to.add_parameter(parameter.type().storage(), parameter.def->metadata());
    }
    for (Instruction* x : from.instructions()) {
      if (x->is(Opcode::parameter) || x == from.terminator()) continue;
      Builder b(to);
      b.set_metadata(x->metadata());
      const std::vector<Value> values = is_quantized(*x) ? expanded(*x, b) : copied(*x, to);
      for (size_t i = 0; i < values.size(); ++i) map_[x->result(static_cast<int>(i))] = values[i];
    }
    std::vector<Value> results;
    for (const Value& value : from.results()) results.push_back(map_.at(value));
    to.set_results(std::move(results));
    to.terminator()->set_metadata(from.terminator()->metadata());
  }

  Value mapped(const Instruction& x, int operand) const { return map_.at(x.operand(operand)); }

  // The instruction with the storage types.
  std::vector<Value> copied(const Instruction& x, Computation& to) {
    std::vector<Value> operands;
    for (int i = 0; i < x.num_operands(); ++i) operands.push_back(mapped(x, i));
    Types results;
    for (const TensorType& type : x.results()) results.push_back(type.storage());
    Instruction& copy = *to.insert(x.opcode(), std::move(operands), std::move(results), x.attrs());
    copy.set_metadata(x.metadata());
    for (const auto& region : x.regions()) expand(*region, copy.add_region());
    std::vector<Value> values;
    for (int i = 0; i < copy.num_results(); ++i) values.push_back(copy.result(i));
    return values;
  }

  std::vector<Value> expanded(const Instruction& x, Builder& b) {
    switch (quantized_rule(x.opcode(), types_of_operands(x), x.results())) {
      case QuantizedRule::moves:
      case QuantizedRule::integers:
        return copied(x, b.computation());
      case QuantizedRule::product:
        return {product(x, b)};
      case QuantizedRule::real:
        return real(x, b);
      case QuantizedRule::own:
        break;
    }
    if (x.is(Opcode::uniform_dequantize)) {
      return {QuantizedBuilder(b).dequantize(mapped(x, 0), *x.operand(0).type().quantized)};
    }
    if (x.is(Opcode::uniform_quantize)) return {quantized(x, b)};
    return copied(x, b.computation());
  }

  Value quantized(const Instruction& x, Builder& b) {
    QuantizedBuilder q(b);
    const TensorType& from = x.operand(0).type();
    if (!from.is_quantized()) return q.quantize(mapped(x, 0), x.type());
    if (!rounding_) return q.quantize(q.dequantize(mapped(x, 0), *from.quantized), x.type());
    return q.rescale(q.centered(mapped(x, 0), *from.quantized),
                     requantization_factors(from, x.type()),
                     std::max(from.quantized->axis, x.type().quantized->axis), x.type(), rounding_);
  }

  // -- Products

  Value product(const Instruction& x, Builder& b) {
    const TensorType& lhs = x.operand(0).type();
    const TensorType& rhs = x.operand(1).type();
    QuantizedBuilder q(b);
    if (!lhs.is_quantized()) {
      const Value kernel = q.dequantize(mapped(x, 1), *rhs.quantized);
      return b.op(x.opcode(), {mapped(x, 0), kernel}, x.attrs(), {x.type()})->result();
    }
    const bool direct = lhs.dtype == DType::s8 && !rhs.quantized->has_zero_points();
    const Value sums = direct ? sums_of_s8(x, b) : wide_sums(x, b);
    const int axis = std::max(product_channel_axis(x), x.type().quantized->axis);
    return q.rescale(sums, product_factors(lhs, rhs, x.type()), axis, x.type(), rounding_);
  }

  Value wide_sums(const Instruction& x, Builder& b) {
    QuantizedBuilder q(b);
    const Value lhs = q.centered(mapped(x, 0), *x.operand(0).type().quantized);
    const Value rhs = q.centered(mapped(x, 1), *x.operand(1).type().quantized);
    return b.op(x.opcode(), {lhs, rhs}, x.attrs(), {{DType::s32, x.shape()}})->result();
  }

  // sum (a - z) b = sum a b - z sum b
  Value sums_of_s8(const Instruction& x, Builder& b) {
    const int64_t zero = x.operand(0).type().quantized->zero_points[0];
    Value lhs = mapped(x, 0);
    Attrs attrs = x.attrs();
    if (zero != 0 && x.is(Opcode::convolution)) lhs = padded(lhs, zero, attrs, b);
    const Value sums =
        b.op(x.opcode(), {lhs, mapped(x, 1)}, std::move(attrs), {{DType::s32, x.shape()}})
            ->result();
    return zero == 0 ? sums : b.subtract(sums, zero_point_sums(x, zero, b));
  }

  // Pads with the zero point, which stands for 0, and removes the padding from `attrs`.
  static Value padded(Value lhs, int64_t zero, Attrs& attrs, Builder& b) {
    auto& convolution = std::get<ConvolutionAttrs>(attrs);
    const auto rank = static_cast<size_t>(lhs.shape().rank());
    Dims low(rank, 0);
    Dims high(rank, 0);
    Dims interior(rank, 0);
    bool any = false;
    for (size_t d = 0; d < convolution.input_spatial_dimensions.size(); ++d) {
      const auto axis = static_cast<size_t>(convolution.input_spatial_dimensions[d]);
      low[axis] = convolution.padding[d].first;
      high[axis] = convolution.padding[d].second;
      interior[axis] = convolution.lhs_dilation[d] - 1;
      any = any || low[axis] != 0 || high[axis] != 0 || interior[axis] != 0;
      convolution.padding[d] = {0, 0};
      convolution.lhs_dilation[d] = 1;
    }
    if (!any) return lhs;
    return b.pad(lhs, b.scalar(lhs.dtype(), static_cast<double>(zero)), low, high, interior);
  }

  // zero * (the sum of rhs over what is contracted), in the result's shape.
  Value zero_point_sums(const Instruction& x, int64_t zero, Builder& b) {
    const Shape& rhs = x.operand(1).shape();
    Dims summed;
    Dims kept;
    Dims positions;
    for (int axis = 0; axis < rhs.rank(); ++axis) {
      const int position = product_result_axis(x, axis);
      if (position < 0) {
        summed.push_back(axis);
      } else {
        kept.push_back(axis);
        positions.push_back(position);
      }
    }
    const Value kernel = mapped(x, 1);
    const Value sums = kernel.def->is(Opcode::constant)
                           ? b.constant(sums_of(kernel.def->attrs<ConstantAttrs>().value, summed))
                           : b.reduce(b.convert(kernel, DType::s32), Opcode::add, summed);
    const Value scaled = b.multiply(sums, b.splat_like(sums, static_cast<double>(zero)));
    return b.broadcast_in_dim(scaled, x.shape(), positions);
  }

  // -- Ops on real numbers

  std::vector<Value> real(const Instruction& x, Builder& b) {
    if (rounding_ && uses_fixed_point(x)) return {fixed_point(x, b)};
    if (has_table(x)) return {from_table(x, b)};
    QuantizedBuilder q(b);
    std::vector<Value> operands;
    for (int i = 0; i < x.num_operands(); ++i) {
      const TensorType& type = x.operand(i).type();
      const Value value = mapped(x, i);
      operands.push_back(type.is_quantized() ? q.dequantize(value, *type.quantized) : value);
    }
    Types types;
    for (const TensorType& type : x.results()) types.push_back(real_type(type));
    Instruction& op = *b.op(x.opcode(), std::move(operands), x.attrs(), std::move(types));
    std::vector<Value> values;
    for (int i = 0; i < x.num_results(); ++i) {
      const TensorType& type = x.results()[i];
      values.push_back(type.is_quantized() ? q.quantize(op.result(i), type) : op.result(i));
    }
    return values;
  }

  Value fixed_point(const Instruction& x, Builder& b) {
    const TensorType& lhs = x.operand(0).type();
    const TensorType& rhs = x.operand(1).type();
    QuantizedBuilder q(b);
    if (x.is(Opcode::add)) return q.add(mapped(x, 0), mapped(x, 1), lhs, rhs, x.type(), *rounding_);
    const Value product = b.multiply(q.centered(mapped(x, 0), *lhs.quantized),
                                     q.centered(mapped(x, 1), *rhs.quantized));
    return q.rescale(product, product_factors(lhs, rhs, x.type()), -1, x.type(), rounding_);
  }

  static bool has_table(const Instruction& x) {
    if (x.num_operands() != 1 || x.num_results() != 1 || !x.traits().has(kElementwise))
      return false;
    const TensorType& operand = x.operand(0).type();
    if (!operand.is_quantized() || operand.quantized->per_axis()) return false;
    return dtype_info(operand.dtype).bits <= (x.traits().has(kTranscendental) ? 16 : 8);
  }

  // Looks the result up by the operand's integer.
  Value from_table(const Instruction& x, Builder& b) const {
    const TensorType& from = x.operand(0).type();
    const int64_t least = storage_minimum(from.dtype);
    const int64_t size = storage_maximum(from.dtype) - least + 1;
    std::vector<int64_t> integers;
    for (int64_t i = 0; i < size; ++i) integers.push_back(least + i);
    Module scratch;
    scratch.attributes = from_.attributes;
    Computation& main = scratch.add_function("main");
    const Value parameter = main.add_parameter({from.dtype, {size}, from.quantized});
    const TensorType result{x.dtype(), {size}, x.type().quantized};
    main.set_results({Builder(main).op(x.opcode(), {parameter}, x.attrs(), {result})->result()});
    const Tensor table = Evaluator().run(
        main, std::vector<Tensor>{Tensor::of<int64_t>({size}, integers).cast(from.dtype)})[0];
    const Value wide = b.convert(mapped(x, 0), DType::s32);
    const Value index = b.subtract(wide, b.splat_like(wide, static_cast<double>(least)));
    GatherAttrs attrs;
    attrs.collapsed_slice_dims = {0};
    attrs.start_index_map = {0};
    attrs.index_vector_dim = x.shape().rank();
    attrs.slice_sizes = {1};
    return b.op(Opcode::gather, {b.constant(table), index}, std::move(attrs))->result();
  }

  std::optional<FixedPointRounding> rounding_;
  const Module& from_;
  Module& to_;
  ValueMap map_;
};

}  // namespace

bool has_quantized_types(const Module& module) {
  return std::ranges::any_of(module.functions(),
                             [](const auto& function) { return any_quantized(*function); });
}

std::unique_ptr<Module> expand_quantized(const Module& module) {
  auto result = std::make_unique<Module>(module.name());
  Expander(module, *result).run();
  return result;
}

}  // namespace systole::hlo
