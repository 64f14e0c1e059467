// Losses: how far predictions are from labels, one number for a batch. (tf.losses)
//
// Common to all, which stand in a header each:
//   * Labels and predictions (logits) have the same shape, unless stated. Weights broadcast to the
//     losses: a scalar, or of the same rank with each dimension equal or 1.
//   * `reduction` reduces the weighted losses to one f32 scalar, which is added to the collection
//     `losses`; get_total_loss() sums the collection.
//   * Labels, predictions and weights may be given by position: mean_squared_error(y, guess).
//   * Examples that pad the last batch of an evaluation have weight 0 (train/example_mask.h).
//   * Errors: INVALID_ARGUMENT `<loss>: <what>, got <value>, expected <value>, at <file>:<line>`.
#pragma once

#include <string>

#include "systole/train/losses/all.h"  // IWYU pragma: export

namespace systole::losses {

// Weights, reduces and registers losses; for user-defined losses.
// (tf.losses.compute_weighted_loss)
Output compute_weighted_loss(const Input& losses, const WeightedLossOptions& options = {});

// Adds a loss to those that get_total_loss() sums. (tf.losses.add_loss)
void add_loss(const Output& loss, std::string_view loss_collection = "losses");
std::vector<Output> get_losses(std::string_view scope = {},
                               std::string_view loss_collection = "losses");
std::vector<Output> get_regularization_losses(std::string_view scope = {});
// Returns the sum of the regularization losses; 0 if there are none.
Output get_regularization_loss(std::string_view scope = {});
// The sum of all losses of the current graph, by default with regularisation losses.
// Errors: FAILED_PRECONDITION when there are none.
Output get_total_loss(bool add_regularization_losses = true, std::string_view scope = {});

}  // namespace systole::losses
