// The optimizer of a model that runs on several cores. (tf.contrib.tpu.CrossShardOptimizer)
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "systole/graph/api/tpu_collectives.h"
#include "systole/train/optimizer.h"

namespace systole {

struct CrossShardOptimizerOptions {
  // Apply the gradient of the mean of the shards' losses, or of their sum.
  enum class Reduction : uint8_t { MEAN, SUM } reduction = Reduction::MEAN;
  std::string name = "CrossShardOptimizer";
  // Groups of shards that exchange gradients; one group of all shards when empty.
  tpu::GroupAssignment group_assignment = {};
};

// Sums or averages gradients over the shards (replicas), then applies them with another optimizer,
// equally on every shard. With one shard it changes nothing.
//
// TensorFlow divides the loss in compute_gradients(). Here the mean is taken in apply_gradients(),
// over the shards that run the program. So it also covers gradients that were computed or clipped
// by other code.
class CrossShardOptimizer : public Optimizer {
 public:
  // Errors: INVALID_ARGUMENT unless group_assignment has every shard once, in groups of equal size.
  template <class Inner>
  requires std::is_base_of_v<Optimizer, Inner>
  explicit CrossShardOptimizer(Inner optimizer, CrossShardOptimizerOptions options = {})
      : CrossShardOptimizer(std::make_shared<Inner>(std::move(optimizer)), std::move(options)) {}
  explicit CrossShardOptimizer(std::shared_ptr<Optimizer> optimizer,
                               CrossShardOptimizerOptions options = {});

  std::vector<GradientAndVariable> compute_gradients(
      Output loss, const ComputeGradientsOptions& options = {}) override;
  Operation apply_gradients(const std::vector<GradientAndVariable>& grads_and_vars,
                            const ApplyGradientsOptions& options = {}) override;

  // Returns the slots of the wrapped optimizer.
  std::vector<std::string> slot_names() const override { return optimizer_->slot_names(); }
  Variable slot(const Variable& variable, std::string_view slot_name) const override {
    return optimizer_->slot(variable, slot_name);
  }
  std::vector<Variable> variables() const override { return optimizer_->variables(); }

 protected:
  Operation apply(const Output& gradient, const Variable& variable) override;

 private:
  std::shared_ptr<Optimizer> optimizer_;
  CrossShardOptimizerOptions options_;
};

}  // namespace systole
