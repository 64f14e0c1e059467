// C++ functions as operations of a graph. (tensorflow/python/ops/script_ops.py)
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "systole/graph/core/graph.h"
#include "systole/graph/core/op_options.h"

namespace systole {

using HostFn = std::function<std::vector<Tensor>(std::span<const Tensor> inputs)>;

// What `func` returns for the values of `inputs`, each of its type in `Tout`; sizes that change
// from run to run are -1 there. It is called on the host in every run that needs a result, from the
// threads of all sessions that run the graph: between two programs of the device, which take time
// to hand over. A data set's map calls it from several threads at once. Its results must not view
// memory that it frees. The graph keeps it. No gradient flows through it unless a
// GradientOverrideMap gives one for "PyFunc". (tf.py_func) Errors when run: what func throws, with
// the node and the user's line; INVALID_ARGUMENT for a result of another type. It cannot run in
// loops, branches and the steps of a TPU, as any op of the host: an error names it; TPUEstimator
// has HostCall for that.
std::vector<Output> py_func(HostFn func, const InputList& inputs,
                            const std::vector<TensorType>& Tout, const NameOptions& options = {});
// Wraps a function of one result.
Output py_func(std::function<Tensor(std::span<const Tensor> inputs)> func, const InputList& inputs,
               const TensorType& Tout, const NameOptions& options = {});

}  // namespace systole
