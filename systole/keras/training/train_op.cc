#include "systole/keras/training/train_op.h"

#include "systole/base/error.h"
#include "systole/graph/gradients/gradients.h"
#include "systole/train/replicas.h"

namespace systole::keras {
namespace {

void collect_layers(const LayerDefinition& layer, TrainableLayers& layers) {
  layers.emplace(&layer, layer.trainable());
  for (const auto& inner : layer.sublayers()) collect_layers(*inner, layers);
}

}  // namespace

std::shared_ptr<const CollectedTrainable> collect_trainable(const ModelDefinition& model) {
  const bool known = model.is_graph_network() ? !model.input_types().empty() : model.built();
  if (!known) return nullptr;
  auto collected = std::make_shared<CollectedTrainable>();
  collected->weights = model.trainable_weights();
  collect_layers(model, collected->layers);
  return collected;
}

StepEffects effects_of(const CallContext& context, WeightBindings& weights, bool training) {
  for (const auto& [weight, variable] : context.bindings()) weights.bind(weight, variable);
  StepEffects effects;
  for (const CallContext::Effect& effect : context.operations()) {
    effects.operations.push_back(effect.operation);
    effects.changed.insert(effects.changed.end(), effect.changed.begin(), effect.changed.end());
  }
  for (const CallContext::Update& update : context.updates()) {
    if (!training && !update.state) continue;
    effects.operations.emplace_back(weights.variable_of(update.weight).assign(update.value));
    effects.changed.push_back(update.weight);
  }
  return effects;
}

StepEffects build_train_op(CallContext& context, WeightBindings& weights,
                           const ModelDefinition& model, const OptimizerSpec& optimizer,
                           std::span<const WeightPtr> trained, const Output& loss) {
  if (!optimizer) {
    throw make_error(Code::failed_precondition,
                     "You must compile your model before training, with an optimizer.");
  }
  if (trained.empty()) {
    throw invalid_argument(
        "model '{}': got no trainable weights, expected at least one to train: {}", model.name(),
        model.weights().empty() ? "its layers have no weights"
                                : "all of its layers were frozen (trainable = false) when it was "
                                  "compiled");
  }
  std::vector<Output> values;
  for (const WeightPtr& weight : trained) values.push_back(context.value(weight));
  const std::vector<Output> gradients = systole::gradients({loss}, values);
  std::vector<Parameter> parameters;
  for (size_t i = 0; i < trained.size(); ++i) {
    if (!gradients[i].valid()) continue;
    parameters.push_back({trained[i], replica_sum_of_gradient(gradients[i])});
  }
  if (parameters.empty()) {
    throw invalid_argument(
        "No gradients provided for any variable: the loss depends on none of {} trainable weights",
        trained.size());
  }
  optimizer->add_updates(context, parameters);
  return effects_of(context, weights, /*training=*/true);
}

}  // namespace systole::keras
