#include "apps/systole/train/layer_stack.h"

#include <algorithm>
#include <utility>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/control_flow_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/where_scope.h"

namespace systole::app {

using keras::LayerDefinition;
using keras::WeightPtr;

namespace {

// The variable of a weight of `layer`, "dense/kernel", which begins as the weight does.
Variable make_variable(const LayerDefinition& layer, const WeightPtr& weight) {
  const std::vector<WeightPtr> weights = layer.weights();
  const std::vector<WeightPtr> trained = layer.trainable_weights();
  const auto at = static_cast<size_t>(std::ranges::find(weights, weight) - weights.begin());
  const std::string name = layer.weight_names()[at];
  return Variable(weight->options().initializer(weight->shape(), weight->type().dtype),
                  {.name = name.substr(0, name.rfind(':')),
                   .trainable = std::ranges::count(trained, weight) > 0});
}

}  // namespace

LayerStack::LayerStack(std::span<const LayerConfig> layers, bool training, int64_t replicas)
    : replicas_(replicas),
      weights_([this](const WeightPtr& weight) { return make_variable(*applied_, weight); }),
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

// The variables of a layer are made together, in the order of its weights.
Variable LayerStack::variable_of(const WeightPtr& weight) {
  if (!weights_.contains(*weight)) {
    for (const WeightPtr& own : applied_->weights()) weights_.variable_of(own);
  }
  return weights_.variable_of(weight);
}

void LayerStack::add_to_collections() {
  Graph& graph = Graph::current().root();
  for (const auto& [weight, variable] : weights_.all()) {
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
  for (const auto& [weight, variable] : weights_.all()) {
    const keras::ConstraintFn& constraint = weight->options().constraint;
    if (constraint) all.emplace_back(variable.assign(constraint(variable.read_value())));
  }
  return all.size() == 1 ? train_op : group(all);
}

}  // namespace systole::app
