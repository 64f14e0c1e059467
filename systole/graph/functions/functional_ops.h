// Functions applied along the first axis of tensors. (tensorflow/python/ops/functional_ops.py)
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "systole/graph/core/graph.h"
#include "systole/graph/core/op_options.h"

namespace systole {

struct ScanOptions {
  bool reverse = false;  // from the last element to the first
  std::string name = "scan";
};

// The state after a step, of the state before it and the elements of that step.
using ScanFn = std::function<std::vector<Output>(const std::vector<Output>& state,
                                                 const std::vector<Output>& elements)>;
struct Scan {
  std::vector<Output> stacked;  // the states after all steps, at the elements' places: [n, ...]
  std::vector<Output> last;     // the state after the last step
};
// Goes through the rows of `elems`, which all have n of them: state = fn(state, rows), beginning
// with `initializer`, in a loop. A state keeps its dtype and shape. What is not used of the result
// is not kept. Differentiable by elems, initializer and what fn captures. Errors: INVALID_ARGUMENT
// for elems without a row or with different numbers of rows, when the program is specialised if
// they are not known before; for another number of states, or another dtype or shape. (tf.scan)
Scan scan(const ScanFn& fn, const InputList& elems, const InputList& initializer,
          const ScanOptions& options = {});
// Scans one tensor with one state and returns the stacked states.
Output scan(const std::function<Output(const Output& state, const Output& element)>& fn,
            const Input& elems, const Input& initializer, const ScanOptions& options = {});

using FoldFn = std::function<Output(const Output& state, const Output& element)>;
// The last state of such a scan, from the first row to the last or the other way round; without an
// initializer it begins with that first row, and goes through the others. A literal takes the
// dtype of the rows. (tf.foldl, tf.foldr)
Output foldl(const FoldFn& fn, const Input& elems, const NameOptions& options = {});
Output foldl(const FoldFn& fn, const Input& elems, const Input& initializer,
             const NameOptions& options = {});
Output foldr(const FoldFn& fn, const Input& elems, const NameOptions& options = {});
Output foldr(const FoldFn& fn, const Input& elems, const Input& initializer,
             const NameOptions& options = {});

struct MapFnOptions {
  std::string name = "map";
};
using MapFn = std::function<std::vector<Output>(const std::vector<Output>& elements)>;
// fn of each row of `elems`, which all have as many, in a loop: what it gives is stacked [n, ...].
// fn is called once, while the graph is built. Differentiable by elems and what fn captures. Ops
// that treat rows alike are faster without it. Errors: INVALID_ARGUMENT as scan, and for a result
// without known sizes. (tf.map_fn)
std::vector<Output> map_fn(const MapFn& fn, const InputList& elems,
                           const MapFnOptions& options = {});
Output map_fn(const std::function<Output(const Output& element)>& fn, const Input& elems,
              const MapFnOptions& options = {});

}  // namespace systole
