// What the ops with functions, If and While, share.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "systole/graph/api/control_flow_ops.h"

namespace systole {

// Adds an If of two functions without declared arguments.
std::vector<Output> add_if(Output pred, std::shared_ptr<Graph> then_branch,
                           std::shared_ptr<Graph> else_branch, SourceLocation where,
                           std::string_view name);

struct WhileSpec {
  std::vector<Output> initial;
  LoopConditionFn cond;
  LoopBodyFn body;
  int64_t maximum_iterations = -1;  // none
  // The loop variable that tells an iteration apart for random ops; -1: their number.
  int64_t iteration_var = -1;
  // What the body returns after the loop variables, of static types, are further ones, which it
  // does not read: its callers want their histories. They are the last of the node's.
  bool collects = false;
};
// Adds a While; returns its node, whose first outputs are the last values of the loop variables.
Node* add_while(const WhileSpec& spec, SourceLocation where, std::string_view name);

// What `fn`, "the body", returns takes the places of its arguments. Errors: INVALID_ARGUMENT names
// the result that does not fit.
void check_loop_results(std::string_view op, std::string_view fn, std::span<const Output> arguments,
                        std::span<const Output> results);

// Copies of a function's values in the current graph, made on demand.
class FunctionCopy {
 public:
  // What copied nodes wait for. A function that has run is not to have its effects again.
  enum class Controls : uint8_t { dropped, copied };

  // `argument` gives what stands for argument i of the function.
  FunctionCopy(const Graph& function, std::function<Output(int)> argument,
               Controls controls = Controls::dropped)
      : function_(function), argument_(std::move(argument)), controls_(controls) {}

  // The copy of a value of the function. Errors: UNIMPLEMENTED when it needs a variable read in the
  // function, which may have another value by now.
  Output operator()(Output value);
  // The copy of argument i when one was needed; else an invalid Output.
  Output copied_argument(int i) const;

 private:
  std::vector<Node*> cone_of(const Output& value) const;
  std::span<Node* const> controls_of(const Node& node) const;
  void copy_node(Node& node);

  const Graph& function_;
  std::function<Output(int)> argument_;
  Controls controls_;
  std::unordered_map<const Node*, Node*> nodes_;  // those with copies
  std::unordered_map<Output, Output> copies_;
};

// True when running the function draws random numbers.
bool draws_random_numbers(const Graph& function);

}  // namespace systole
