#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/op_error.h"
#include "systole/train/example_mask.h"
#include "systole/train/losses/losses.h"

namespace systole::losses {
namespace {

// TensorFlow's rule: a scalar, or the rank of the losses with each size theirs or 1.
void check_weights(const Output& losses, const Output& weights) {
  const Shape& got = weights.shape();
  const Shape& wanted = losses.shape();
  bool fits = got.rank() == wanted.rank();
  for (int axis = 0; fits && axis < got.rank(); ++axis) {
    fits = got[axis] == 1 || got[axis] == kUnknown || wanted[axis] == kUnknown ||
           got[axis] == wanted[axis];
  }
  if (fits || got.rank() == 0) return;
  throw invalid_argument(
      "weights, got {} for losses {}, expected a scalar or the same rank with each size equal or 1",
      weights.type(), losses.type());
}

// 0 for a denominator of 0: every example has weight 0.
Output safe_divide(const Output& total, const Output& count) {
  const Output none = equal(count, 0);
  return where_v2(none, 0, total / where_v2(none, 1, count));
}

Output reduce(const Output& losses, const Output& weights, Reduction reduction) {
  const Output weighted = losses * weights;
  if (reduction == Reduction::none) return weighted;
  const Output total = reduce_sum(weighted);
  if (reduction == Reduction::sum) return total;
  const auto everywhere = [&](const Output& x) { return x + zeros_like(losses); };
  if (reduction == Reduction::sum_over_batch_size) {
    // Padding does not belong to the batch.
    const Output real = masked_weights(losses, 1.0F);
    return safe_divide(total, reduce_sum(everywhere(real)));
  }
  if (reduction == Reduction::mean) return safe_divide(total, reduce_sum(everywhere(weights)));
  const Output present = cast(not_equal(weights, 0), DType::f32);
  return safe_divide(total, reduce_sum(everywhere(present)));
}

}  // namespace

Output compute_weighted_loss(const Input& losses, const WeightedLossOptions& options) {
  const CompositionScope scope(losses, options.scope, "weighted_loss");
  const Output given = resolve("compute_weighted_loss", losses, DType::f32);
  const Output values = cast(given, DType::f32);
  const Output weights = resolve("compute_weighted_loss", options.weights, DType::f32);
  with_op("compute_weighted_loss", losses.where(), [&] { check_weights(values, weights); });
  const Output loss = reduce(values, masked_weights(values, weights), options.reduction);
  const Output result =
      cast(identity(loss), is_floating(given.dtype()) ? given.dtype() : DType::f32);
  add_loss(result, options.loss_collection);
  return result;
}

void add_loss(const Output& loss, std::string_view loss_collection) {
  if (!loss_collection.empty()) Graph::current().root().add_to_collection(loss_collection, loss);
}

std::vector<Output> get_losses(std::string_view scope, std::string_view loss_collection) {
  return Graph::current().root().collection<Output>(loss_collection, scope);
}

std::vector<Output> get_regularization_losses(std::string_view scope) {
  return Graph::current().root().collection<Output>(graph_keys::regularization_losses, scope);
}

Output get_regularization_loss(std::string_view scope) {
  const std::vector<Output> losses = get_regularization_losses(scope);
  return losses.empty() ? constant(0.0F) : add_n(losses, {.name = "total_regularization_loss"});
}

Output get_total_loss(bool add_regularization_losses, std::string_view scope) {
  std::vector<Output> losses = get_losses(scope);
  if (add_regularization_losses) {
    for (const Output& loss : get_regularization_losses(scope)) losses.push_back(loss);
  }
  if (losses.empty()) {
    throw failed_precondition("get_total_loss: losses, got none in the graph, expected one");
  }
  return add_n(losses, {.name = "total_loss"});
}

}  // namespace systole::losses
