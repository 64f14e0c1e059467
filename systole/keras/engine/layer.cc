#include "systole/keras/engine/layer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <utility>

#include "systole/base/error.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/where_scope.h"
#include "systole/keras/base/counters.h"
#include "systole/train/example_mask.h"

namespace systole::keras {
namespace {

// Why `shape` does not meet `spec`; "" when it does.
std::string mismatch(const InputSpec& spec, const Shape& shape) {
  const int rank = shape.rank();
  if (spec.ndim >= 0 && rank != spec.ndim) {
    return fmt::format("expected ndim={}, found ndim={}", spec.ndim, rank);
  }
  if (spec.max_ndim >= 0 && rank > spec.max_ndim) {
    return fmt::format("expected max_ndim={}, found ndim={}", spec.max_ndim, rank);
  }
  if (spec.min_ndim >= 0 && rank < spec.min_ndim) {
    return fmt::format("expected min_ndim={}, found ndim={}", spec.min_ndim, rank);
  }
  for (const auto& [axis, size] : spec.axes) {
    const int at = axis < 0 ? axis + rank : axis;
    if (at < 0 || at >= rank || shape[at] < 0 || shape[at] == size) continue;
    return fmt::format("expected axis {} of input shape to have value {}, got {}", axis, size,
                       shape[at]);
  }
  return "";
}

Output mask_placeholder(const KerasTensor& tensor) {
  const auto& shape = tensor.call()->mask_shapes.at(static_cast<size_t>(tensor.index()));
  return shape ? placeholder(DType::pred, *shape) : Output();
}

KerasTensors results_of(const std::shared_ptr<LayerCall>& call) {
  std::vector<KerasTensor> results;
  for (size_t i = 0; i < call->outputs.size(); ++i) results.emplace_back(call, static_cast<int>(i));
  return results;
}

// Returns the tensor itself for an input of a model.
KerasTensors inputs_of(const std::shared_ptr<LayerCall>& call) {
  return call->inputs.empty() ? results_of(call) : KerasTensors(call->inputs);
}

std::vector<std::shared_ptr<LayerCall>> live_calls(const LayerDefinition& layer) {
  std::vector<std::shared_ptr<LayerCall>> found;
  for (const std::weak_ptr<LayerCall>& call : layer.calls) {
    if (auto live = call.lock()) found.push_back(std::move(live));
  }
  return found;
}

std::shared_ptr<LayerCall> only_call(const LayerDefinition& layer, const char* what) {
  const auto all = live_calls(layer);
  if (all.empty()) throw failed_precondition("Layer {} has no inbound nodes.", layer.name());
  if (all.size() == 1) return all[0];
  throw failed_precondition(
      "Layer {} has multiple inbound nodes, hence the notion of \"layer {}\" is ill-defined. Use "
      "`get_{}_at(node_index)` instead.",
      layer.name(), what, what);
}

std::shared_ptr<LayerCall> call_at(const LayerDefinition& layer, int node_index) {
  for (const std::shared_ptr<LayerCall>& call : live_calls(layer)) {
    if (call->node_index == node_index) return call;
  }
  throw make_error(Code::out_of_range, "Layer {}: node_index, got {}, expected one of its {} calls",
                   layer.name(), node_index, layer.num_calls);
}

// `x` with zeros in the examples that only pad a batch.
Output without_padding(const Output& x) { return example_mask() ? x * masked_weights(x, 1.0F) : x; }

// Spreads an activity penalty over the batch: returns penalty / (number of rows) for each row of
// `output`, so that the mean over the rows of all replicas divides the penalty by the batch size.
// `penalty` is the sum over this replica's rows without those that pad the batch, which the number
// of rows leaves out, too.
Output penalty_by_rows(const Output& penalty, const Output& output) {
  const int64_t rows = output.shape()[0];
  if (rows < 0) return penalty / cast(gather(shape(output), 0), DType::f32);
  const std::optional<Output> mask = example_mask();
  const bool padded = mask && mask->shape() == Shape{rows};
  const Output count = padded ? maximum(reduce_sum(*mask), 1.0F)
                              : constant(static_cast<float>(std::max<int64_t>(rows, 1)));
  return ones({rows}) * (penalty / count);
}

// What a call of the layer on `count` inputs passes, each input with its name where call() takes
// several tensors.
CallArguments named_arguments(const LayerDefinition& layer, CallArguments given, size_t count) {
  const CallSignature signature = layer.call_signature();
  const auto check = [&](const std::vector<std::string>& known, const std::string& name) {
    if (std::ranges::find(known, name) != known.end()) return;
    throw invalid_argument("layer '{}': call() of {} has no argument '{}', expected one of: {}",
                           layer.name(), layer.class_name(), name, fmt::join(known, ", "));
  };
  for (const std::string& name : given.inputs) check(signature.tensors, name);
  for (const auto& [name, value] : given.flags) check(signature.flags, name);
  if (!given.inputs.empty() && given.inputs.size() != count) {
    throw invalid_argument("layer '{}': got {} tensors and {} names of arguments", layer.name(),
                           count, given.inputs.size());
  }
  if (!given.inputs.empty() || signature.tensors.empty() || signature.takes_list) return given;
  if (count > signature.tensors.size()) {
    throw invalid_argument("layer '{}': got {} tensors, expected at most {}: {}", layer.name(),
                           count, signature.tensors.size(), fmt::join(signature.tensors, ", "));
  }
  given.inputs.assign(signature.tensors.begin(),
                      signature.tensors.begin() + static_cast<std::ptrdiff_t>(count));
  return given;
}

// " (made at train.cc:12)", "" where the line is not known.
std::string made_at(const SourceLocation& where) {
  return where.known() ? fmt::format(" (made at {})", where.to_string()) : "";
}

}  // namespace

std::string sizes_text(const Shape& shape) {
  std::string text = "(";
  for (int i = 0; i < shape.rank(); ++i) {
    if (i > 0) text += ", ";
    text += shape[i] < 0 ? "None" : std::to_string(shape[i]);
  }
  return text + (shape.rank() == 1 ? ",)" : ")");
}

std::vector<std::pair<std::string, std::vector<KerasTensor>>> tensors_by_argument(
    const LayerCall& call) {
  const std::vector<std::string>& names = call.arguments.inputs;
  if (names.empty()) return {{"", call.inputs}};
  std::vector<std::pair<std::string, std::vector<KerasTensor>>> all;
  for (size_t i = 0; i < names.size(); ++i) {
    auto it = std::ranges::find_if(all, [&](const auto& one) { return one.first == names[i]; });
    if (it == all.end()) it = all.insert(it, {names[i], {}});
    it->second.push_back(call.inputs.at(i));
  }
  return all;
}

const TensorType& KerasTensor::type() const {
  if (!valid()) throw invalid_argument("KerasTensor: got none, expected the result of a layer");
  return call_->outputs.at(static_cast<size_t>(index_));
}

std::string KerasTensor::name() const {
  return valid() ? fmt::format("{}/output:{}", call_->layer->name(), index_) : "none";
}

KerasTensors::KerasTensors(std::initializer_list<KerasTensors> parts) {
  for (const KerasTensors& part : parts) {
    tensors_.insert(tensors_.end(), part.begin(), part.end());
  }
}

const KerasTensor& KerasTensors::only() const {
  if (tensors_.size() != 1) {
    throw invalid_argument("KerasTensors: got {} tensors, expected one", tensors_.size());
  }
  return tensors_[0];
}

LayerDefinition::~LayerDefinition() = default;

Json LayerDefinition::config() const {
  throw make_error(Code::unimplemented,
                   "layer '{}': {} has no config(), expected one that returns the constructor's "
                   "arguments, so that the layer can be saved",
                   name_, class_name());
}

void LayerDefinition::set_trainable(bool trainable) {
  trainable_ = trainable;
  for (const auto& layer : sublayers()) layer->set_trainable(trainable);
}

std::vector<WeightPtr> LayerDefinition::trainable_weights() const {
  std::vector<WeightPtr> found;
  if (!trainable_) return found;
  std::ranges::copy_if(own_weights_, std::back_inserter(found), &Weight::trainable);
  for (const auto& layer : sublayers()) {
    for (const WeightPtr& weight : layer->trainable_weights()) found.push_back(weight);
  }
  return found;
}

std::vector<WeightPtr> LayerDefinition::non_trainable_weights() const {
  std::vector<WeightPtr> found;
  for (const WeightPtr& weight : own_weights_) {
    if (!trainable_ || !weight->trainable()) found.push_back(weight);
  }
  for (const auto& layer : sublayers()) {
    for (const WeightPtr& weight : trainable_ ? layer->non_trainable_weights() : layer->weights()) {
      found.push_back(weight);
    }
  }
  return found;
}

std::vector<WeightPtr> LayerDefinition::weights() const {
  std::vector<WeightPtr> all = trainable_weights();
  for (const WeightPtr& weight : non_trainable_weights()) all.push_back(weight);
  return all;
}

void LayerDefinition::add_weight_names(
    const std::string& scope, std::unordered_map<const Weight*, std::string>& names) const {
  for (const WeightPtr& weight : own_weights_) names.emplace(weight.get(), scope + weight->name());
  for (const auto& layer : sublayers()) {
    layer->add_weight_names(sublayer_scope(scope, *layer), names);
  }
}

std::vector<std::string> LayerDefinition::weight_names() const {
  std::unordered_map<const Weight*, std::string> name_of;
  add_weight_names(name_ + "/", name_of);
  std::vector<std::string> names;
  std::unordered_map<std::string, int> taken;
  for (const WeightPtr& weight : weights()) {
    const std::string& name = name_of.at(weight.get());
    const int count = taken[name]++;
    names.push_back(count == 0 ? name + ":0" : fmt::format("{}_{}:0", name, count));
  }
  return names;
}

bool LayerDefinition::stateful() const {
  const auto inside = sublayers();
  return std::ranges::any_of(inside, [](const auto& layer) { return layer->stateful(); });
}

std::vector<WeightPtr> LayerDefinition::states() const {
  std::vector<WeightPtr> all;
  for (const auto& layer : sublayers()) {
    for (const WeightPtr& state : layer->states()) all.push_back(state);
  }
  return all;
}

void LayerDefinition::reset_states(const std::vector<Tensor>& values) {
  if (!values.empty()) {
    throw invalid_argument("Layer {}: reset_states, got {} values, expected those of one layer",
                           name_, values.size());
  }
  const auto inside = sublayers();
  if (inside.empty()) throw make_error(Code::failed_precondition, "Layer must be stateful.");
  for (const auto& layer : inside) {
    if (layer->stateful()) layer->reset_states({});
  }
}

WeightPtr LayerDefinition::add_weight(std::string name, Shape shape, WeightOptions options) {
  own_weights_.push_back(
      std::make_shared<Weight>(std::move(name), std::move(shape), std::move(options)));
  return own_weights_.back();
}

void LayerDefinition::ensure_built(const std::vector<Shape>& input_shapes) {
  if (built_) return;
  build(input_shapes);
  built_ = true;
  if (initial_weights_.empty()) return;
  Layer(shared_from_this()).set_weights(initial_weights_);
  initial_weights_.clear();
}

void LayerDefinition::check_inputs(const std::vector<Output>& inputs) const {
  // A layer without requirements checks the number itself, in call(): merges, models.
  const size_t expected = std::max<size_t>(input_specs_.size(), 1);
  const bool too_many = !input_specs_.empty() && !takes_initial_state() && inputs.size() > expected;
  if (inputs.size() < expected || too_many) {
    throw invalid_argument("Layer {} expects {} inputs, but it received {} input tensors.{}", name_,
                           expected, inputs.size(), made_at(where_));
  }
  for (size_t i = 0; i < input_specs_.size(); ++i) {
    const Shape& shape = inputs[i].shape();
    const std::string problem = mismatch(input_specs_[i], shape);
    if (problem.empty()) continue;
    throw invalid_argument(
        "Input {} of layer {} is incompatible with the layer: {}. Full shape received: {}{}", i,
        name_, problem, sizes_text(shape), made_at(where_));
  }
}

void LayerDefinition::propagate_mask(CallContext& context, const std::vector<Output>& inputs,
                                     const std::vector<Output>& outputs) const {
  if (mask_support() != MaskSupport::pass || inputs.empty()) return;
  const Output mask = context.mask(inputs[0]);
  if (!mask.valid()) return;
  for (const Output& output : outputs) context.set_mask(output, mask);
}

std::vector<Output> LayerDefinition::apply(CallContext& context,
                                           const std::vector<Output>& inputs) {
  const WhereScope where(where_);
  const NameScope scope(name_);
  const CallContext::ArgumentsScope arguments(context);
  check_inputs(inputs);
  std::vector<Shape> shapes;
  for (const Output& input : inputs) shapes.push_back(input.shape());
  ensure_built(shapes);
  check_inputs(inputs);
  if (mask_support() == MaskSupport::refuse) {
    for (const Output& input : inputs) {
      if (!context.mask(input).valid()) continue;
      throw invalid_argument(
          "Layer {} does not support masking, but was passed an input_mask: remove mask_zero or "
          "Masking before it, or end the mask with a recurrent layer or pooling over time{}",
          name_, made_at(where_));
    }
  }
  std::vector<Output> outputs = call(context, inputs);
  propagate_mask(context, inputs, outputs);
  if (activity_regularizer_ != nullptr) {
    for (const Output& output : outputs) {
      const Output penalty = activity_regularizer_(without_padding(output));
      const bool by_rows = activity_regularizer_mean_ && output.shape().rank() > 0;
      context.add_loss(by_rows ? penalty_by_rows(penalty, output) : penalty);
    }
  }
  return outputs;
}

void LayerDefinition::record_call(const std::shared_ptr<LayerCall>& call) {
  call->node_index = num_calls++;
  std::erase_if(calls, [](const std::weak_ptr<LayerCall>& old) { return old.expired(); });
  calls.push_back(call);
}

Layer::Layer(std::shared_ptr<LayerDefinition> definition) : definition_(std::move(definition)) {
  if (!definition_) throw invalid_argument("Layer: got a null pointer, expected a layer");
  if (name().empty()) definition_->set_name(unique_layer_name(class_name()));
}

KerasTensors Layer::operator()(const KerasTensors& inputs, const CallOptions& options) const {
  if (inputs.size() == 0) {
    throw invalid_argument("Layer {}: got no input tensor, expected at least one", name());
  }
  auto call = std::make_shared<LayerCall>();
  call->layer = definition_;
  call->inputs = inputs.all();
  if (options.initial_state.size() > 0 && !definition_->takes_initial_state()) {
    throw invalid_argument(
        "layer '{}': initial_state, got {} tensors, expected none: {} has no states", name(),
        options.initial_state.size(), class_name());
  }
  for (const KerasTensor& state : options.initial_state) call->inputs.push_back(state);
  call->training = options.training;
  call->arguments = named_arguments(*definition_, options.arguments, inputs.size());
  // Types come from building the call in a graph that is thrown away.
  const UserGraphScope user_graph;
  Graph scratch;
  const GraphScope scope(scratch);
  CallContext context(/*training=*/false, nullptr);
  std::vector<Output> values;
  for (const KerasTensor& input : call->inputs) {
    values.push_back(placeholder(input.dtype(), input.shape()));
    const Output mask = mask_placeholder(input);
    if (mask.valid()) context.set_mask(values.back(), mask);
  }
  const CallContext::CallScope call_scope(context, std::nullopt, call->arguments);
  const std::vector<Output> outputs = definition_->apply(context, values);
  for (const Output& output : outputs) {
    call->outputs.push_back(output.type());
    const Output mask = context.mask(output);
    call->mask_shapes.push_back(mask.valid() ? std::optional(mask.shape()) : std::nullopt);
  }
  definition_->record_call(call);
  return results_of(call);
}

KerasTensors Layer::input() const { return inputs_of(only_call(*definition_, "input")); }
KerasTensors Layer::output() const { return results_of(only_call(*definition_, "output")); }
KerasTensors Layer::get_input_at(int node_index) const {
  return inputs_of(call_at(*definition_, node_index));
}
KerasTensors Layer::get_output_at(int node_index) const {
  return results_of(call_at(*definition_, node_index));
}

std::vector<Tensor> Layer::get_weights() const {
  const std::vector<WeightPtr> all = definition_->weights();
  initialize(all);
  std::vector<Tensor> values;
  for (const WeightPtr& weight : all) values.push_back(weight->value().clone());
  return values;
}

void Layer::set_weights(const std::vector<Tensor>& values) const {
  const std::vector<WeightPtr> all = definition_->weights();
  if (values.size() != all.size()) {
    throw invalid_argument(
        "You called `set_weights(weights)` on layer \"{}\" with a weight list of length {}, but "
        "the layer was expecting {} weights",
        name(), values.size(), all.size());
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (values[i].type() == all[i]->type()) continue;
    throw invalid_argument("layer '{}': weight '{}', got {}, expected {}", name(), all[i]->name(),
                           values[i].type(), all[i]->type());
  }
  for (size_t i = 0; i < all.size(); ++i) all[i]->set_value(values[i].clone());
}

int64_t Layer::count_params() const {
  int64_t count = 0;
  for (const WeightPtr& weight : weights()) count += weight->shape().num_elements();
  return count;
}

Json Layer::get_config() const { return definition_->config(); }

}  // namespace systole::keras
