// Branches and loops in the graph. (tensorflow/python/ops/control_flow_ops.py)
//
// Branches, conditions and bodies are built as functions: ops that they add are part of them,
// values of the graph around them are captured. Assignments in them happen when, and as often as,
// they run, in the order in which they were built, whether or not a result depends on them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "systole/graph/core/graph.h"
#include "systole/graph/core/op_options.h"

namespace systole {

using BranchFn = std::function<std::vector<Output>()>;

// The results of true_fn() when `pred` (a pred scalar) is true, else those of false_fn(). Both give
// the same number of tensors, of the same dtypes and shapes. Only the branch taken is run.
// Gradient: for everything captured, by running the branch's values again. (tf.cond)
// Errors: branches that do not agree. UNIMPLEMENTED: a gradient that needs a Variable::read_value()
// made in a branch.
std::vector<Output> cond(const Input& pred, const BranchFn& true_fn, const BranchFn& false_fn,
                         const NameOptions& options = {});
// With branches of one tensor.
Output cond(const Input& pred, const std::function<Output()>& true_fn,
            const std::function<Output()>& false_fn, const NameOptions& options = {});

using LoopConditionFn = std::function<Output(const std::vector<Output>& loop_vars)>;
using LoopBodyFn = std::function<std::vector<Output>(const std::vector<Output>& loop_vars)>;

struct WhileLoopOptions {
  // The loop ends after so many iterations at the latest.
  std::optional<int64_t> maximum_iterations;
  std::string name = "while";
};

// while (cond(vars)) vars = body(vars); returns the last vars. The condition gives a pred scalar,
// the body as many tensors as it takes, of the same dtypes and shapes. (tf.while_loop)
//
// Gradient: for the initial values and everything captured. The forward loop keeps the loop
// variables of each iteration, the backward loop runs the body again from them. For that the number
// of iterations, or a bound, must be known when the program is compiled: by `maximum_iterations`,
// or because the condition depends only on loop variables that are computed from constants (a
// counter, also when compared with a size). Random ops draw in the second run what they drew in the
// first. Errors: results that do not agree with the variables; INVALID_ARGUMENT when a gradient is
// asked for and no bound is known. UNIMPLEMENTED: a gradient that needs a Variable::read_value()
// made in the body.
std::vector<Output> while_loop(const LoopConditionFn& cond, const LoopBodyFn& body,
                               const InputList& loop_vars, const WhileLoopOptions& options = {});

}  // namespace systole
