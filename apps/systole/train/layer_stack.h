// The layers of a configuration file in the graph of a model_fn.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "apps/systole/train/layer_config.h"
#include "systole/keras/engine/weight_bindings.h"

namespace systole::app {

// Layers one after the other, with their weights as variables of the current graph: "dense/kernel".
// Lives while the graph is built.
class LayerStack {
 public:
  // `replicas`: how many run the program, each with its part of a batch.
  LayerStack(std::span<const LayerConfig> layers, bool training, int64_t replicas);
  LayerStack(const LayerStack&) = delete;
  LayerStack& operator=(const LayerStack&) = delete;

  // Adds the layers' ops. `x`: [batch, ...]; [batch] becomes [batch, 1]. Adds penalties to the
  // collection regularization_losses and updates of moving averages to update_ops. Errors: those
  // of the layers, with the line of the file.
  Output operator()(const Output& x);

  // Adds an operation that runs `train_op`, then the constraints of the weights.
  Operation with_constraints(const Operation& train_op) const;

 private:
  struct Placed {
    std::shared_ptr<keras::LayerDefinition> layer;
    ConfigNode node;
  };

  Output apply(const Placed& placed, const Output& x);
  Variable variable_of(const keras::WeightPtr& weight);
  void add_to_collections();

  std::vector<Placed> layers_;
  int64_t replicas_;
  const keras::LayerDefinition* applied_ = nullptr;  // whose call() is under way
  keras::WeightBindings weights_;
  keras::CallContext context_;
};

}  // namespace systole::app
