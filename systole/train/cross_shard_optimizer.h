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
  // MEAN: the gradient of the mean of the shards' losses. SUM: of their sum.
  enum class Reduction : uint8_t { MEAN, SUM } reduction = Reduction::MEAN;
  std::string name = "CrossShardOptimizer";
  // Groups of shards that train together; all of them when empty.
  tpu::GroupAssignment group_assignment = {};
};

// Sums or averages gradients over the shards, then lets another optimizer apply them: each shard
// applies the same. On a device without shards there is one, and nothing changes.
//
// Where TensorFlow divides the loss by the number of shards that the shard context tells, in
// compute_gradients, the mean here is taken in apply_gradients, of as many shards as there are when
// the program runs: also of gradients that were computed or clipped elsewhere, and without a
// context.
class CrossShardOptimizer : public Optimizer {
 public:
  // Errors: INVALID_ARGUMENT for a group_assignment that is not one of the shards of the context,
  // or, without one, of 0, 1... each once in groups of one size.
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

  // The other optimizer's.
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
