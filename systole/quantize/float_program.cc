#include "systole/quantize/float_program.h"

#include <algorithm>
#include <cmath>

#include "systole/base/error.h"
#include "systole/hlo/analysis/queries.h"
#include "systole/hlo/passes/dce.h"
#include "systole/hlo/passes/expand_quantized.h"
#include "systole/hlo/passes/inline_calls.h"
#include "systole/hlo/semantics/checks.h"
#include "systole/hlo/semantics/evaluator.h"
#include "systole/hlo/semantics/quantized.h"
#include "systole/quantize/fake_quant.h"

namespace systole::quantize {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

constexpr int64_t kMaxKnownBytes = int64_t{256} << 20;

// The output channels of the weights: the last axis that is not contracted.
int weight_axis_of(const Instruction& product) {
  const int rank = product.operand(1).shape().rank();
  if (product.is(Opcode::convolution)) {
    return static_cast<int>(product.attrs<hlo::ConvolutionAttrs>().kernel_output_feature_dimension);
  }
  const auto& attrs = product.attrs<hlo::DotAttrs>();
  for (int axis = rank - 1; axis >= 0; --axis) {
    if (!hlo::contains(attrs.rhs_contracting_dimensions, axis)) return axis;
  }
  return -1;
}

bool is_product(const Instruction& x) {
  const bool product = x.is(Opcode::dot_general) || x.is(Opcode::convolution);
  return product && x.dtype() == DType::f32 && x.operand(0).dtype() == DType::f32 &&
         x.operand(1).dtype() == DType::f32;
}

// Returns one value for each index of `axis` of the result of a broadcast of `x`; nullopt if the
// result varies along another axis.
std::optional<std::vector<float>> by_channel(const Tensor& x, const Dims& dimensions, int axis,
                                             int64_t channels) {
  if (x.num_elements() == 1) {
    return std::vector<float>(static_cast<size_t>(channels), x.data<float>()[0]);
  }
  for (int i = 0; i < x.rank(); ++i) {
    const bool here = dimensions[i] == axis;
    if (x.dim(i) != (here ? channels : 1)) return std::nullopt;
  }
  const std::span<const float> values = x.data<float>();
  return std::vector<float>(values.begin(), values.end());
}

// The same of a constant that is not a broadcast.
std::optional<std::vector<float>> by_channel(const Tensor& x, int axis) {
  int64_t inner = 1;
  for (int i = axis + 1; i < x.rank(); ++i) inner *= x.dim(i);
  const int64_t channels = x.dim(axis);
  std::vector<float> values(static_cast<size_t>(channels));
  const std::span<const float> elements = x.data<float>();
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    float& value = values[i / inner % channels];
    const float element = elements[i];
    if (i / inner < channels && i % inner == 0) value = element;
    if (value != element) return std::nullopt;
  }
  return values;
}

}  // namespace

FloatProgram::FloatProgram(const hlo::Module& module) : module_(module.clone()) {
  if (hlo::has_quantized_types(module)) {
    throw invalid_argument("quantize: module '{}', got quantized types, expected real numbers",
                           module.name());
  }
  hlo::InlineCalls().run(*module_);
  hlo::DeadCodeElimination().run(*module_);
  remove_fake_quants(module_->entry());
  known_.clear();  // of instructions that will be gone
  hlo::DeadCodeElimination().run(*module_);
  find_layers(module_->entry(), false);
}

QuantizedTypePtr FloatProgram::own_type(Value value) const {
  const auto found = own_types_.find(value);
  return found == own_types_.end() ? nullptr : found->second;
}

// Rounding that 8-bit integers do anyway. Weights keep it: they are constants.
void FloatProgram::remove_fake_quants(const hlo::Computation& computation) {
  const KnownValue known_value = [this](Value value) { return known(value); };
  for (Instruction* x : computation.instructions()) {
    if (x->is(Opcode::while_)) remove_fake_quants(x->region(1));
    const auto found = match_fake_quant(*x, known_value);
    if (!found || known(found->input)) continue;
    const QuantizedTypePtr type = found->activation_type();
    if (type == nullptr) continue;
    own_types_[found->input] = type;
    hlo::Computation::replace_all_uses(x->result(), found->input);
  }
}

// Symmetric ranges alone: the integers of weights have no zero point.
std::vector<double> FloatProgram::weight_scales_of(const Instruction& product, const Layer& layer) {
  const auto found =
      match_fake_quant(*product.operand(1).def, [this](Value value) { return known(value); });
  if (!found) return {};
  const auto count = static_cast<size_t>(found->scale.num_elements());
  const bool last = layer.weight_axis == layer.weights.rank() - 1;
  if (count != 1 && (!last || count != layer.scale.size())) return {};
  std::vector<double> scales;
  for (size_t i = 0; i < count; ++i) {
    const double scale = found->scale.data<float>()[i];
    const double largest =
        std::max(-found->least.data<float>()[i], found->greatest.data<float>()[i]);
    if (std::round(largest / scale) > 127) return {};
    scales.push_back(scale);
  }
  return scales;
}

const Layer* FloatProgram::layer_of(const Instruction& instruction) const {
  const auto found = by_output_.find(&instruction);
  return found == by_output_.end() ? nullptr : &layers_[found->second];
}

void FloatProgram::find_layers(const hlo::Computation& computation, bool in_loop) {
  for (Instruction* x : computation.instructions()) {
    if (x->is(Opcode::while_)) find_layers(x->region(1), true);
    auto layer = is_product(*x) ? layer_from(*x) : std::nullopt;
    if (!layer) continue;
    layer->in_loop = in_loop;
    extend(*layer);
    by_output_[layer->output.def] = layers_.size();
    layers_.push_back(std::move(*layer));
  }
}

std::optional<Layer> FloatProgram::layer_from(Instruction& product) {
  const auto weights = known(product.operand(1));
  const int axis = weight_axis_of(product);
  if (!weights || axis < 0 || known(product.operand(0))) return std::nullopt;
  Layer layer;
  layer.product = &product;
  layer.output = product.result();
  layer.weights = *weights;
  layer.weight_axis = axis;
  layer.channel_axis = hlo::product_result_axis(product, axis);
  layer.name = product.metadata().name.empty()
                   ? fmt::format("{}.{}", product.opcode(), layers_.size())
                   : product.metadata().name;
  const auto channels = static_cast<size_t>(weights->dim(axis));
  layer.scale.assign(channels, 1);
  layer.shift.assign(channels, 0);
  layer.weight_scales = weight_scales_of(product, layer);
  return layer;
}

void FloatProgram::extend(Layer& layer) {
  while (layer.output.def->users().size() == 1) {
    Instruction& user = *layer.output.def->users()[0];
    const bool here = &user.parent() == &layer.product->parent();
    if (!here || user.num_results() != 1 || user.shape() != layer.output.shape()) return;
    if (!absorb(layer, user) && !absorb_batch_norm(layer, user) && !absorb_relu(layer, user)) {
      return;
    }
    inside_.insert(layer.output.def);
    layer.output = user.result();
    if (layer.relu) return;
  }
}

// y + v, y - v, v - y, y v, y / v, with one v by channel.
bool FloatProgram::absorb(Layer& layer, Instruction& user) {
  const bool sum = user.is(Opcode::add) || user.is(Opcode::subtract);
  if (!sum && !user.is(Opcode::multiply) && !user.is(Opcode::divide)) return false;
  const bool left = user.operand(0) == layer.output;
  if (user.operand(0) == user.operand(1) || (!left && user.is(Opcode::divide))) return false;
  const auto values = channel_values(user.operand(left ? 1 : 0), layer);
  if (!values) return false;
  for (size_t c = 0; c < values->size(); ++c) {
    const float v = (*values)[c];
    if (user.is(Opcode::add)) layer.shift[c] += v;
    if (user.is(Opcode::subtract)) {
      layer.scale[c] *= left ? 1.0F : -1.0F;
      layer.shift[c] = left ? layer.shift[c] - v : v - layer.shift[c];
    }
    if (sum) continue;
    const float factor = user.is(Opcode::multiply) ? v : 1 / v;
    layer.scale[c] *= factor;
    layer.shift[c] *= factor;
  }
  return true;
}

bool FloatProgram::absorb_batch_norm(Layer& layer, Instruction& user) {
  if (!user.is(Opcode::batch_norm_inference) || user.operand(0) != layer.output) return false;
  const auto& attrs = user.attrs<hlo::BatchNormAttrs>();
  if (attrs.feature_index != layer.channel_axis) return false;
  std::vector<Tensor> parts;
  for (int i = 1; i < 5; ++i) {
    const auto part = known(user.operand(i));
    if (!part) return false;
    parts.push_back(*part);
  }
  for (size_t c = 0; c < layer.scale.size(); ++c) {
    const auto at = [&](size_t part) { return parts[part].data<float>()[c]; };
    const float factor = at(0) / std::sqrt(at(3) + static_cast<float>(attrs.epsilon));
    layer.scale[c] *= factor;
    layer.shift[c] = (layer.shift[c] - at(2)) * factor + at(1);
  }
  return true;
}

bool FloatProgram::absorb_relu(Layer& layer, Instruction& user) {
  if (!user.is(Opcode::maximum)) return false;
  const int other = user.operand(0) == layer.output ? 1 : 0;
  const auto values = channel_values(user.operand(other), layer);
  const bool zero = values && std::ranges::all_of(*values, [](float v) { return v == 0; });
  layer.relu = zero;
  return zero;
}

std::optional<std::vector<float>> FloatProgram::channel_values(Value value, const Layer& layer) {
  const auto channels = static_cast<int64_t>(layer.scale.size());
  if (value.dtype() != DType::f32) return std::nullopt;
  if (value.def->is(Opcode::broadcast_in_dim)) {
    const auto operand = known(value.def->operand(0));
    if (!operand) return std::nullopt;
    return by_channel(*operand, value.def->attrs<hlo::BroadcastInDimAttrs>().broadcast_dimensions,
                      layer.channel_axis, channels);
  }
  const auto whole = known(value);
  if (!whole || whole->rank() != layer.output.shape().rank()) return std::nullopt;
  return by_channel(*whole, layer.channel_axis);
}

std::optional<Tensor> FloatProgram::known(Value value) {
  const auto found = known_.find(value);
  if (found != known_.end()) return found->second;
  known_[value] = std::nullopt;  // until it is found
  Instruction& x = *value.def;
  const bool closed = x.num_regions() == 0 || x.is(Opcode::reduce);
  const bool pure = hlo::is_pure(x) && !x.is(Opcode::parameter) && closed &&
                    !x.traits().has(hlo::kContextual) && x.num_results() == 1;
  if (!pure || x.type().byte_size() > kMaxKnownBytes) return std::nullopt;
  std::vector<Tensor> operands;
  for (const Value& operand : x.operands()) {
    const auto tensor = known(operand);
    if (!tensor) return std::nullopt;
    operands.push_back(*tensor);
  }
  known_[value] = hlo::Evaluator().evaluate(x, operands)[0];
  return known_[value];
}

}  // namespace systole::quantize
