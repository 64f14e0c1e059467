// Reverse-mode automatic differentiation, graph to graph.
#pragma once

#include <vector>

#include "systole/graph/core/graph.h"

namespace systole {

struct GradientsOptions {
  // dL/dy for each y; ones where absent.
  std::vector<Output> grad_ys;
  // Values through which no gradient flows.
  std::vector<Output> stop_gradients;
};

// d(sum of ys)/dx for each x, as tf.gradients: an invalid Output for an x that no y depends on
// (through differentiable ops). Adds nodes under the scope "gradients". Errors: INVALID_ARGUMENT
// names the node and op on the way that has no gradient, or a y that is not floating.
std::vector<Output> gradients(const std::vector<Output>& ys, const std::vector<Output>& xs,
                              const GradientsOptions& options = {});
// gradients(loss, w), gradients(loss, {w, b}).
inline std::vector<Output> gradients(const Output& y, const Output& x,
                                     const GradientsOptions& options = {}) {
  return gradients(std::vector<Output>{y}, std::vector<Output>{x}, options);
}
inline std::vector<Output> gradients(const Output& y, const std::vector<Output>& xs,
                                     const GradientsOptions& options = {}) {
  return gradients(std::vector<Output>{y}, xs, options);
}

}  // namespace systole
