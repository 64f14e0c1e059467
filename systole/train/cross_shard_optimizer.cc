#include "systole/train/cross_shard_optimizer.h"

#include <algorithm>

#include "systole/base/error.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/where_scope.h"
#include "systole/train/replicas.h"

namespace systole {
namespace {

// Checks that every shard occurs once, in groups of equal size.
void check_groups(const tpu::GroupAssignment& groups) {
  if (groups.empty()) return;
  std::vector<int64_t> ids;
  for (const std::vector<int64_t>& group : groups) {
    if (group.empty() || group.size() != groups[0].size()) {
      throw invalid_argument(
          "CrossShardOptimizer: group_assignment, got groups of {} and {} shards, expected all of "
          "one size, at least 1",
          groups[0].size(), group.size());
    }
    ids.insert(ids.end(), group.begin(), group.end());
  }
  const auto shards = tpu::get_tpu_context().number_of_shards();
  const size_t count = shards ? static_cast<size_t>(*shards) : ids.size();
  if (ids.size() != count) {
    throw invalid_argument(
        "CrossShardOptimizer: group_assignment, got {} shards, expected a permutation of the {} "
        "there are",
        ids.size(), count);
  }
  std::ranges::sort(ids);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == static_cast<int64_t>(i)) continue;
    throw invalid_argument(
        "CrossShardOptimizer: group_assignment, got {} where {} should be, expected a permutation "
        "of 0 to {}",
        ids[i], i, ids.size() - 1);
  }
}

}  // namespace

CrossShardOptimizer::CrossShardOptimizer(std::shared_ptr<Optimizer> optimizer,
                                         CrossShardOptimizerOptions options)
    : Optimizer(options.name), optimizer_(std::move(optimizer)), options_(std::move(options)) {
  if (optimizer_ == nullptr) {
    throw invalid_argument("CrossShardOptimizer: optimizer, got none, expected one");
  }
  check_groups(options_.group_assignment);
}

std::vector<GradientAndVariable> CrossShardOptimizer::compute_gradients(
    Output loss, const ComputeGradientsOptions& options) {
  return optimizer_->compute_gradients(loss, options);
}

Operation CrossShardOptimizer::apply_gradients(
    const std::vector<GradientAndVariable>& grads_and_vars, const ApplyGradientsOptions& options) {
  std::vector<GradientAndVariable> reduced;
  for (const auto& [gradient, variable] : grads_and_vars) {
    if (!gradient.valid()) {
      reduced.push_back({gradient, variable});
      continue;
    }
    const GraphScope in_graph(gradient.graph());
    const NameScope scope(name());
    const WhereScope where(gradient.node()->where());
    const tpu::CrossReplicaSumOptions groups{.group_assignment = options_.group_assignment};
    Output sum = replica_sum_of_gradient(gradient, options_.group_assignment);
    if (options_.reduction == CrossShardOptimizerOptions::Reduction::MEAN) {
      const Tensor one = Tensor::full(gradient.dtype(), {}, 1);
      const Output count = tpu::cross_replica_sum(one, groups);
      sum = map_values(sum, [&](const Output& values) { return divide(values, count); });
    }
    reduced.push_back({sum, variable});
  }
  return optimizer_->apply_gradients(reduced, options);
}

Operation CrossShardOptimizer::apply(const Output&, const Variable& variable) {
  throw internal_error("CrossShardOptimizer.apply: '{}', got a call, expected apply_gradients",
                       variable.name());
}

}  // namespace systole
