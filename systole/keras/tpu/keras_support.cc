#include "systole/keras/tpu/keras_support.h"

#include <utility>

#include "systole/base/error.h"
#include "systole/keras/training/trainer.h"
#include "systole/session/targets/target.h"

namespace systole::keras::tpu {
namespace {

int64_t cores_of(const std::string& master) {
  const Target target = resolve_target(master, "");
  if (!target.environment.is_tpu) {
    throw not_found("No TPU found on given worker. '{}' is {}, expected {}", master,
                    target.client->platform(), target_forms());
  }
  return target.environment.num_cores;
}

// The cores of a stateful model keep the states of their rows each.
Placement placement_for(const TPUDistributionStrategy& strategy) {
  return {.target = strategy.master(), .replicas = strategy.num_towers()};
}

}  // namespace

TPUDistributionStrategy::TPUDistributionStrategy()
    : TPUDistributionStrategy(TPUClusterResolver()) {}

TPUDistributionStrategy::TPUDistributionStrategy(const TPUClusterResolver& tpu_cluster_resolver,
                                                 const TPUDistributionStrategyOptions& options)
    : master_(tpu_cluster_resolver.master()), cores_(cores_of(master_)) {
  if (options.using_single_core) cores_ = 1;
}

KerasTPUModel::KerasTPUModel(const Model& model, const TPUDistributionStrategy& strategy)
    : Model(model, placement_for(strategy)), cpu_model_(model) {}

Model KerasTPUModel::sync_to_cpu() const {
  // A weight's value() asks the trainer that has it.
  for (const WeightPtr& weight : weights()) {
    if (weight->has_value()) static_cast<void>(weight->value());
  }
  return cpu_model_;
}

int64_t KerasTPUModel::num_cores() const { return trainer_or_bare()->placement().replicas; }

int64_t KerasTPUModel::num_compilations() const {
  return static_cast<int64_t>(trainer_or_bare()->num_programs());
}

KerasTPUModel keras_to_tpu_model(const Model& model, const KerasToTpuModelOptions& options) {
  if (!model.model()->is_graph_network()) {
    throw invalid_argument(
        "keras_to_tpu_model: model '{}' is a subclass, expected a Sequential or functional model",
        model.name());
  }
  return {model, options.strategy ? *options.strategy : TPUDistributionStrategy()};
}

}  // namespace systole::keras::tpu
