// Functions whose values are computed again for their gradients, to save memory.
// (tensorflow/contrib/layers/python/layers/rev_block_lib.py)
#pragma once

#include <functional>
#include <vector>

#include "systole/graph/core/graph.h"

namespace systole {

// `f` as a function that keeps nothing but its inputs and results for the backward pass:
// gradients() adds a second copy of its nodes, which runs when the gradients of its results are
// there. It gives the gradients of f, for its inputs and for the variables that it reads, for one
// more forward pass of f, and a step holds the intermediate values of one such function at a time:
//
//   auto block = st::recompute_grad([](const st::Output& x) { return attention_block(x); });
//   x = block(x);
//
// What f draws at random, and what else may differ in a second run, is kept and not computed again,
// so that the gradient is that of the values that were used. (tf.contrib.layers.recompute_grad)
// Errors, when it is applied: INVALID_ARGUMENT for a result that is none.
std::function<Output(const Input& x)> recompute_grad(std::function<Output(const Output& x)> f);
std::function<std::vector<Output>(const InputList& xs)> recompute_grad(
    std::function<std::vector<Output>(const std::vector<Output>& xs)> f);

}  // namespace systole
