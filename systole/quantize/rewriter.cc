#include "systole/quantize/rewriter.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "systole/hlo/ir/builder.h"
#include "systole/hlo/passes/dce.h"
#include "systole/hlo/semantics/quantized.h"

namespace systole::quantize {
namespace {

using hlo::Builder;
using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

// Moves whose result has the type of their only operand.
bool is_move(const Instruction& x) {
  return semantics_of(x.opcode()).moves_elements && x.traits().max_operands == 1;
}

bool is_max_pool(const Instruction& x) {
  return x.is(Opcode::reduce_window) && x.num_results() == 1 && x.num_regions() == 1 &&
         hlo::match_reducer(x.region()) == Opcode::maximum;
}

// Ops on two activations that stay on 8 bits, with a scale of their own.
bool is_combination(const Instruction& x) { return x.is(Opcode::add) || x.is(Opcode::multiply); }

// The results of these have fixed ranges.
QuantizedTypePtr fixed_type(const Instruction& x) {
  if (x.is(Opcode::tanh)) return per_tensor_type(DType::s8, 1.0 / 128, 0);
  if (x.is(Opcode::logistic)) return per_tensor_type(DType::s8, 1.0 / 256, -128);
  return nullptr;
}

class Rewriter {
 public:
  Rewriter(FloatProgram& program, const ActivationTypes& types, const Options& options)
      : program_(program), types_(types), options_(options) {}

  Rewritten run(bool observe) {
    Rewritten result{std::make_unique<hlo::Module>(program_.module().name()), {}};
    Computation& main = result.module->add_function("main");
    const Computation& from = program_.main();
    write(from, main);
    std::vector<Value> results;
    for (const Value& value : from.results()) results.push_back(real(value, main));
    for (const Layer& layer : program_.layers()) {
      if (!observe || layer.in_loop || !integers_.contains(layer.output)) continue;
      result.observed.push_back(&layer);
      Builder b(main);
      results.push_back(b.op(Opcode::uniform_dequantize, {integers_.at(layer.output)})->result());
    }
    main.set_results(std::move(results));
    main.attributes() = from.attributes();
    result.module->attributes = program_.module().attributes;
    if (options_.rounding) {
      const bool twice = *options_.rounding == FixedPointRounding::tflite;
      result.module->attributes[std::string(hlo::kRoundingAttribute)] =
          twice ? "\"tflite\"" : "\"single\"";
    }
    hlo::DeadCodeElimination().run(*result.module);
    return result;
  }

 private:
  void write(const Computation& from, Computation& to) {
    for (int i = 0; i < from.num_parameters(); ++i) {
      real_[from.parameter(i)] =
          to.add_parameter(from.parameter(i).type(), from.parameter(i).def->metadata());
    }
    for (Instruction* x : from.instructions()) {
      if (x->is(Opcode::parameter) || x == from.terminator()) continue;
      write(*x, to);
    }
  }

  void write(Instruction& x, Computation& to) {
    Builder b(to);
    b.set_metadata(x.metadata());
    if (const Layer* layer = program_.layer_of(x)) {
      if (write_layer(*layer, b)) return;
    } else if (program_.inside_layer(x) && written_as_layer(x)) {
      return;
    }
    if (write_integers(x, b)) return;
    copy(x, to);
  }

  // Whether the layer that `x` is inside of will be written at its output.
  bool written_as_layer(const Instruction& x) const {
    const auto inside = [&](const Layer& layer) {
      for (Value at = layer.product->result(); at != layer.output;
           at = at.def->users()[0]->result()) {
        if (at.def == &x) return true;
      }
      return false;
    };
    const auto layer = std::ranges::find_if(program_.layers(), inside);
    return layer != program_.layers().end() && has_types(*layer);
  }

  bool has_types(const Layer& layer) const {
    return types_.contains(layer.output) && (types_.contains(layer.product->operand(0)) ||
                                             integers_.contains(layer.product->operand(0)));
  }

  // -- Values

  // The value as f32, or as it is.
  Value real(Value value, Computation& to) {
    const auto found = real_.find(value);
    if (found != real_.end()) return found->second;
    Builder b(to);
    const Value result = b.op(Opcode::uniform_dequantize, {integers_.at(value)})->result();
    // In a loop, the value is known inside only.
    if (&value.def->parent() == &program_.main() && to.owner() != nullptr) return result;
    real_[value] = result;
    return result;
  }

  bool has_integers(Value value) const { return integers_.contains(value); }

  Value integers(Value value, Builder& b) {
    const auto found = integers_.find(value);
    if (found != integers_.end()) return found->second;
    const TensorType type{DType::s8, value.shape(), types_.at(value)};
    const Value result =
        b.op(Opcode::uniform_quantize, {real(value, b.computation())}, hlo::NoAttrs{}, {type})
            ->result();
    const bool outside =
        &value.def->parent() == &program_.main() && b.computation().owner() != nullptr;
    if (!outside) integers_[value] = result;
    return result;
  }

  // -- Layers

  bool write_layer(const Layer& layer, Builder& b) {
    if (!has_types(layer)) return false;
    const Instruction& product = *layer.product;
    const Value lhs = integers(product.operand(0), b);
    const QuantizedWeights weights =
        quantize_weights(scaled_weights(layer), layer.weight_axis, weight_scales(layer));
    const TensorType kernel_type{DType::s8, layer.weights.shape(), weights.type};
    const Value kernel =
        b.op(Opcode::constant, {}, hlo::ConstantAttrs{weights.values}, {kernel_type})->result();
    std::vector<double> scales;
    for (const double scale : weights.type->scales) {
      scales.push_back(lhs.type().quantized->scales[0] * scale);
    }
    const TensorType sum_type{DType::s32, product.shape(),
                              per_axis_type(DType::s32, layer.channel_axis, scales)};
    Value sums = b.op(product.opcode(), {lhs, kernel}, product.attrs(), {sum_type})->result();
    if (std::ranges::any_of(layer.shift, [](float shift) { return shift != 0; })) {
      sums = b.op(Opcode::add, {sums, bias(layer, scales, sum_type, b)}, hlo::NoAttrs{}, {sum_type})
                 ->result();
    }
    const TensorType type{DType::s8, layer.output.shape(), types_.at(layer.output)};
    integers_[layer.output] =
        b.op(Opcode::uniform_quantize, {sums}, hlo::NoAttrs{}, {type})->result();
    return true;
  }

  // Returns the scales of training, by channel, times the folded factors; none without.
  static std::vector<double> weight_scales(const Layer& layer) {
    std::vector<double> scales;
    for (size_t c = 0; !layer.weight_scales.empty() && c < layer.scale.size(); ++c) {
      scales.push_back(layer.weight_scales[layer.weight_scales.size() == 1 ? 0 : c] *
                       std::abs(static_cast<double>(layer.scale[c])));
    }
    return scales;
  }

  static Tensor scaled_weights(const Layer& layer) {
    Tensor scaled = layer.weights.clone();
    int64_t inner = 1;
    for (int i = layer.weight_axis + 1; i < scaled.rank(); ++i) inner *= scaled.dim(i);
    const int64_t channels = scaled.dim(layer.weight_axis);
    const std::span<float> values = scaled.data<float>();
    for (int64_t i = 0; i < scaled.num_elements(); ++i) {
      values[i] *= layer.scale[i / inner % channels];
    }
    return scaled;
  }

  static Value bias(const Layer& layer, const std::vector<double>& scales,
                    const TensorType& sum_type, Builder& b) {
    const auto channels = static_cast<int64_t>(layer.shift.size());
    const Tensor values = quantize_bias(Tensor::of<float>({channels}, layer.shift), scales);
    const TensorType type{DType::s32, {channels}, per_axis_type(DType::s32, 0, scales)};
    const Value constant = b.op(Opcode::constant, {}, hlo::ConstantAttrs{values}, {type})->result();
    return b
        .op(Opcode::broadcast_in_dim, {constant}, hlo::BroadcastInDimAttrs{{layer.channel_axis}},
            {sum_type})
        ->result();
  }

  // -- Other ops on 8 bits

  bool write_integers(Instruction& x, Builder& b) {
    if (x.num_results() != 1 || x.dtype() != DType::f32 || x.num_operands() == 0) return false;
    const bool all =
        std::ranges::all_of(x.operands(), [&](const Value& v) { return has_integers(v); });
    if (x.is(Opcode::gather)) return write_lookup(x, b);
    if (is_move(x) && all) return write_move(x, b);
    if (is_max_pool(x) && has_integers(x.operand(0))) return write_max_pool(x, b);
    if (x.is(Opcode::concatenate) && all && types_.contains(x.result())) {
      return write_concatenate(x, b);
    }
    if (is_combination(x) && all && types_.contains(x.result())) {
      return write_typed(x, types_.at(x.result()), b);
    }
    if (all && fixed_type(x) != nullptr) return write_typed(x, fixed_type(x), b);
    return false;
  }

  // Rows of a constant table, such as an embedding: the table becomes 8-bit weights.
  bool write_lookup(const Instruction& x, Builder& b) {
    const auto table = program_.known(x.operand(0));
    if (!table || table->rank() < 2 || program_.known(x.operand(1))) return false;
    const QuantizedWeights rows = quantize_table(*table);
    const TensorType type{DType::s8, table->shape(), rows.type};
    const Value constant =
        b.op(Opcode::constant, {}, hlo::ConstantAttrs{rows.values}, {type})->result();
    integers_[result_of(x)] = b.op(Opcode::gather, {constant, real(x.operand(1), b.computation())},
                                   x.attrs(), {{DType::s8, x.shape(), rows.type}})
                                  ->result();
    return true;
  }

  bool write_move(const Instruction& x, Builder& b) {
    const Value from = integers_.at(x.operand(0));
    return write_typed(x, from.type().quantized, b);
  }

  bool write_typed(const Instruction& x, const QuantizedTypePtr& type, Builder& b) {
    std::vector<Value> operands;
    for (const Value& operand : x.operands()) operands.push_back(integers_.at(operand));
    integers_[result_of(x)] =
        b.op(x.opcode(), std::move(operands), x.attrs(), {{DType::s8, x.shape(), type}})->result();
    return true;
  }

  bool write_concatenate(const Instruction& x, Builder& b) {
    const QuantizedTypePtr& type = types_.at(result_of(x));
    std::vector<Value> operands;
    for (const Value& operand : x.operands()) {
      const TensorType to{DType::s8, operand.shape(), type};
      const Value from = integers_.at(operand);
      operands.push_back(
          from.type() == to
              ? from
              : b.op(Opcode::uniform_quantize, {from}, hlo::NoAttrs{}, {to})->result());
    }
    integers_[result_of(x)] =
        b.op(x.opcode(), std::move(operands), x.attrs(), {{DType::s8, x.shape(), type}})->result();
    return true;
  }

  // The initial value, the least number of a pool, becomes the least integer.
  bool write_max_pool(const Instruction& x, Builder& b) {
    const Value from = integers_.at(x.operand(0));
    const TensorType scalar{DType::s8, {}, from.type().quantized};
    const Value least =
        b.op(Opcode::constant, {}, hlo::ConstantAttrs{Tensor::full(DType::s8, {}, -128)}, {scalar})
            ->result();
    const auto fill = [&](Instruction& window) {
      Computation& body = window.add_region();
      const Value p = body.add_parameter(scalar);
      const Value q = body.add_parameter(scalar);
      body.set_results(
          {Builder(body).op(Opcode::maximum, {p, q}, hlo::NoAttrs{}, {scalar})->result()});
    };
    integers_[result_of(x)] =
        b.op_with_regions(Opcode::reduce_window, {from, least}, x.attrs(), fill,
                          {{DType::s8, x.shape(), from.type().quantized}})
            ->result();
    return true;
  }

  static Value result_of(const Instruction& x) { return const_cast<Instruction&>(x).result(); }

  // -- Everything else

  void copy(Instruction& x, Computation& to) {
    std::vector<Value> operands;
    for (const Value& operand : x.operands()) operands.push_back(real(operand, to));
    for (const auto& region : x.regions()) make_real(*region, to);
    Instruction& copied = *to.insert(x.opcode(), std::move(operands),
                                     {x.results().begin(), x.results().end()}, x.attrs());
    copied.set_metadata(x.metadata());
    for (int r = 0; r < x.num_regions(); ++r) {
      Computation& region = copied.add_region();
      if (!x.is(Opcode::while_) || r == 0) {
        region.clone_from(x.region(r), real_);
        continue;
      }
      write(x.region(r), region);
      std::vector<Value> results;
      for (const Value& value : x.region(r).results()) results.push_back(real(value, region));
      region.set_results(std::move(results));
    }
    for (int i = 0; i < x.num_results(); ++i) real_[x.result(i)] = copied.result(i);
  }

  // Values from around a region are used there as f32.
  void make_real(const Computation& region, Computation& to) {
    for (const Instruction* x : region.instructions()) {
      for (const Value& operand : x->operands()) {
        if (integers_.contains(operand)) real(operand, to);
      }
      for (const auto& inner : x->regions()) make_real(*inner, to);
    }
  }

  FloatProgram& program_;
  const ActivationTypes& types_;
  const Options& options_;
  hlo::ValueMap real_;      // f32, and whatever is not f32
  hlo::ValueMap integers_;  // quantized
};

}  // namespace

std::vector<Value> values_to_calibrate(const FloatProgram& program) {
  std::vector<Value> values;
  const auto add = [&](Value value) {
    if (std::ranges::find(values, value) == values.end()) values.push_back(value);
  };
  const auto visit = [&](const auto& self, const Computation& computation) -> void {
    for (Instruction* x : computation.instructions()) {
      if (x->is(Opcode::while_)) self(self, x->region(1));
      const bool real = x->num_results() == 1 && x->dtype() == DType::f32;
      const bool combines = is_combination(*x) || x->is(Opcode::concatenate);
      if (real && combines && !program.inside_layer(*x)) add(x->result());
    }
  };
  visit(visit, program.main());
  for (const Layer& layer : program.layers()) {
    add(layer.product->operand(0));
    add(layer.output);
  }
  return values;
}

Rewritten rewrite(FloatProgram& program, const ActivationTypes& types, const Options& options,
                  bool observe) {
  return Rewriter(program, types, options).run(observe);
}

}  // namespace systole::quantize
