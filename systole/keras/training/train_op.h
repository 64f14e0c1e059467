// What a step changes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "systole/keras/engine/call_context.h"
#include "systole/keras/engine/network.h"
#include "systole/keras/engine/weight_bindings.h"
#include "systole/keras/optimizers/optimizer.h"

namespace systole::keras {

// What compile() found trainable; layers that are frozen later are trained still. (Keras's
// _collected_trainable_weights.) Shared by the trainers of a model.
struct CollectedTrainable {
  std::vector<WeightPtr> weights;
  TrainableLayers layers;
};
// Null where the model's weights are not made yet.
std::shared_ptr<const CollectedTrainable> collect_trainable(const ModelDefinition& model);

// Operations of a step, and the weights whose variables they change.
struct StepEffects {
  std::vector<Operation> operations;
  std::vector<WeightPtr> changed;
};

// What the calls in a context asked for: operations and the states of stateful layers; `training`:
// running statistics and the like, too.
StepEffects effects_of(const CallContext& context, WeightBindings& weights, bool training);

// A step that trains: the gradients of `loss`, summed over the replicas, the optimizer's updates
// with the constraints of the weights, and all that the calls asked for. Errors:
// FAILED_PRECONDITION without an optimizer; INVALID_ARGUMENT where nothing can be trained.
StepEffects build_train_op(CallContext& context, WeightBindings& weights,
                           const ModelDefinition& model, const OptimizerSpec& optimizer,
                           std::span<const WeightPtr> trained, const Output& loss);

}  // namespace systole::keras
