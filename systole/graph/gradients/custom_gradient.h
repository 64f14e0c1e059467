// Functions with gradients of their own: see core/gradient_override.h for those of ops.
// (tensorflow/python/ops/custom_gradient.py)
#pragma once

#include <functional>
#include <vector>

#include "systole/graph/core/graph.h"

namespace systole {

// A value with its gradient: dL/dy -> dL/dx.
struct CustomGradient {
  Output result;
  std::function<Output(const Output& dy)> grad;
};
using CustomGradientFn = std::function<CustomGradient(const Output& x)>;

// Several: the gradients of all results -> one for each input, an invalid Output for none. A result
// that nothing depends on has the gradient 0.
struct CustomGradients {
  std::vector<Output> results;
  std::function<std::vector<Output>(const std::vector<Output>& dys)> grad;
};
using CustomGradientsFn = std::function<CustomGradients(const std::vector<Output>& xs)>;

// `f` as a function whose gradient is what it gives with its results, in place of that of its ops:
//
//   auto log1pexp = st::custom_gradient([](const st::Output& x) {
//     auto e = st::exp(x);
//     return st::CustomGradient{
//         st::log(1.0F + e), [=](auto& dy) { return dy * (1.0F - 1.0F / (1.0F + e)); }};
//   });
//   auto y = log1pexp(x);
//
// `grad` is called at once, while the function is applied; its ops run where a gradient is wanted,
// and may be differentiated again. Variables that f reads itself get no gradient: pass what is to
// have one as an input. (tf.custom_gradient) Errors, when it is applied: INVALID_ARGUMENT for
// another number of gradients than inputs, and for one of another type than its input.
std::function<Output(const Input& x)> custom_gradient(CustomGradientFn f);
std::function<std::vector<Output>(const InputList& xs)> custom_gradient(CustomGradientsFn f);

}  // namespace systole
