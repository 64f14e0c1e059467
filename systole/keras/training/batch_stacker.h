// Rows of arrays as the stacked batches that a launch takes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/keras/training/trainer.h"

namespace systole::keras {

// Gathers examples in an order into [replicas, K, batch of a replica, ...]. The rows of a step are
// cut into equal consecutive parts, one a replica. A short last batch is filled up with copies of
// its first row, which the example mask gives weight 0.
class BatchStacker {
 public:
  // `arrays` outlive it. `batch_size`: of all replicas together.
  BatchStacker(const Arrays& arrays, int64_t batch_size, int64_t replicas, int64_t max_steps);

  // The types of one replica's batch, for Trainer::prepare.
  const Trainer::BatchShape& batch_shape() const { return shape_; }
  int64_t steps_for(int64_t examples) const { return (examples + batch_size_ - 1) / batch_size_; }

  // The inputs of the steps [first, first + steps) of an epoch that takes examples in this order.
  // Valid until the next call. REQUIRES: steps <= max_steps.
  std::span<const Tensor> fill(std::span<const int64_t> order, int64_t first, int64_t steps);

 private:
  void fill_step(std::span<const int64_t> rows, int64_t step);

  const Arrays& arrays_;
  int64_t batch_size_;
  int64_t replicas_;
  int64_t per_replica_;
  Trainer::BatchShape shape_;
  std::vector<const Tensor*> sources_;  // x, y, sample weights
  std::vector<Tensor> stacks_;          // of the sources, then of the mask
};

}  // namespace systole::keras
