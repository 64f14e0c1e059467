// Streaming metrics: sums over all the batches of an evaluation. (tf.metrics)
//
//   auto metric = metrics::accuracy({.labels = labels, .predictions = guesses});
//   session.run(metric.update_op, batch)...; session.run(metric.value)
//
// Common to all, which stand in a header each:
//   * The sums are f32 local variables (collections local_variables and metric_variables) with
//     TensorFlow's names, "accuracy/total". variables_initializer(local_variables()) resets them.
//   * `weights` broadcast to the values as in losses; 0 ignores an example. Examples that pad the
//     last batch of an evaluation have weight 0 (train/example_mask.h).
//   * With several replicas each adds to `accumulators`, which a StepLoop sums
//     (StepLoopOptions::summed): the metric is over the examples of all replicas.
//   * Labels, predictions and weights may be given by position: accuracy(labels, guesses).
//   * Labels and predictions have the same shape, except for a last dimension of 1 on either.
//   * Errors: INVALID_ARGUMENT `<metric>: <what>, got <value>, expected <value>, at <file>:<line>`.
#pragma once

#include "systole/train/metrics/all.h"  // IWYU pragma: export
