#include "apps/systole/train/layer_stack.h"

#include <algorithm>
#include <utility>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/control_flow_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/where_scope.h"

namespace systole::app {

using keras::LayerDefinition;
using keras::WeightPtr;

LayerStack::LayerStack(std::span<const LayerConfig> layers, bool training, int64_t replicas)
    : replicas_(replicas),
      context_(
          training, [this](const WeightPtr& weight) { return variable_of(weight); }, replicas) {
  for (const LayerConfig& layer : layers) layers_.push_back({layer.make(), layer.node});
}

Output LayerStack::operator()(const Output& x) {
  Output y = x.shape().rank() == 1 ? expand_dims(x, -1) : x;
  for (const Placed& placed : layers_) y = apply(placed, y);
  add_to_collections();
  return y;
}

Output LayerStack::apply(const Placed& placed, const Output& x) {
  try {
    applied_ = placed.layer.get();
    const std::vector<Output> outputs = placed.layer->apply(context_, {x});
    if (outputs.size() == 1) return outputs[0];
    throw placed.node.error(placed.layer->class_name(), fmt::format("{} outputs", outputs.size()),
                            "a layer with one");
  } catch (const Error& error) {
    throw placed.node.placed(error);
  }
}

Variable LayerStack::variable_of(const WeightPtr& weight) {
  if (!variables_.contains(weight.get())) add_variables(*applied_);
  return variables_.at(weight.get());
}

void LayerStack::add_variables(const LayerDefinition& layer) {
  const NameScope top("");
  const std::vector<WeightPtr> weights = layer.weights();
  const std::vector<std::string> names = layer.weight_names();
  const std::vector<WeightPtr> trained = layer.trainable_weights();
  for (size_t i = 0; i < weights.size(); ++i) {
    if (variables_.contains(weights[i].get()))
      continue;  // of a layer inside, made before its neighbour's
    const keras::Weight& weight = *weights[i];
    const Output first = weight.options().initializer(weight.shape(), weight.type().dtype);
    const Variable variable(first, {.name = names[i].substr(0, names[i].rfind(':')),
                                    .trainable = std::ranges::count(trained, weights[i]) > 0});
    variables_.emplace(weights[i].get(), variable);
    weights_.push_back(weights[i]);
  }
}

void LayerStack::add_to_collections() {
  Graph& graph = Graph::current().root();
  for (const WeightPtr& weight : weights_) {
    const keras::RegularizerFn& penalty = weight->options().regularizer;
    if (!penalty) continue;
    graph.add_to_collection(graph_keys::regularization_losses, penalty(context_.value(weight)));
  }
  // A layer adds its part of the batch's sum. The optimizer takes the mean over the replicas.
  for (const Output& part : context_.losses()) {
    graph.add_to_collection(graph_keys::regularization_losses,
                            part * static_cast<double>(replicas_));
  }
  for (const keras::CallContext::Update& update : context_.updates()) {
    graph.add_to_collection(graph_keys::update_ops,
                            Operation(context_.variable(update.weight).assign(update.value)));
  }
}

Operation LayerStack::with_constraints(const Operation& train_op) const {
  std::vector<Operation> all = {train_op};
  const ControlDependencies after({train_op});
  for (const WeightPtr& weight : weights_) {
    const keras::ConstraintFn& constraint = weight->options().constraint;
    const Variable& variable = variables_.at(weight.get());
    if (constraint) all.emplace_back(variable.assign(constraint(variable.read_value())));
  }
  return all.size() == 1 ? train_op : group(all);
}

}  // namespace systole::app
