// A graph as a function on host tensors. Data sets map their elements with it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "systole/base/nest.h"
#include "systole/graph/core/graph.h"
#include "systole/session/host/random_draw.h"

namespace systole {

struct HostFunctionOptions {
  // Random ops without seeds draw from it.
  uint64_t entropy = 0;
  // Captured tensors that are not constant become arguments, after the others.
  bool takes_values = false;
};

// A part of a graph without variables. String, parsing and image ops run as host kernels; the
// numeric ops between them are compiled for one CPU thread, once for each set of types. A value
// type: copies share the compiled programs. Thread-safe.
class HostFunction {
 public:
  // `args` are tensors of the graph, usually placeholders; `results` depend on them.
  // Errors: INVALID_ARGUMENT for outputs of other graphs; UNIMPLEMENTED for variables.
  HostFunction(std::shared_ptr<Graph> graph, std::vector<Output> args, std::vector<Output> results,
               const HostFunctionOptions& options = {});

  using Traced = std::function<Nest<Output>(const Nest<Output>&)>;
  // Calls `fn` once, on placeholders of `spec`, in a new graph with the seed of the current one. A
  // tensor of the current graph, or of one around it, becomes a constant of the function, computed
  // here; with `takes_values` one that is not constant becomes an argument (see captures()).
  // Errors: those of `fn`; INVALID_ARGUMENT for a captured tensor that depends on a variable, or on
  // a placeholder or random op without `takes_values`, and for a tensor of another graph.
  static HostFunction trace(const Nest<TensorType>& spec, const Traced& fn,
                            const HostFunctionOptions& options = {});

  // Returns the results for these arguments. The n-th call draws the n-th random numbers. Errors:
  // INVALID_ARGUMENT for a wrong number, dtype or shape; those of the ops, with the node.
  std::vector<Tensor> operator()(std::span<const Tensor> arguments) const;
  // The same with `draw.number` in place of the count of calls: equal numbers draw equal values on
  // every thread. `draw.entropy` is added to the function's own.
  std::vector<Tensor> run(std::span<const Tensor> arguments, const RandomDraw& draw) const;

  // The same into `results`, one tensor a result. Compiled ops write numbers into the memory of a
  // tensor that has their type and is not shared; other tensors are replaced.
  void run_into(std::span<const Tensor> arguments, const RandomDraw& draw,
                std::span<Tensor> results) const;

  const Graph& graph() const;
  std::span<const Output> arguments() const;
  std::span<const Output> results() const;
  // The tensors of the graph around the function whose values are its last arguments.
  std::span<const Output> captures() const;
  // The types of the arguments without captures(), and of the results, nested as `fn` of trace()
  // has them; tuples for a function made from lists.
  const Nest<TensorType>& argument_spec() const;
  const Nest<TensorType>& result_spec() const;

  // Whether it draws random numbers, so that equal arguments may give different results.
  bool is_random() const;
  // Returns the same function on a batch: results and arguments, except captures(), have a new
  // first dimension. parse_single_example becomes parse_example. nullopt if an op has no batched
  // form. The first call builds it; later calls return it.
  std::optional<HostFunction> vectorized() const;

  // The nodes in execution order, one a line.
  std::string to_string() const;

 private:
  struct Impl;
  explicit HostFunction(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  static std::shared_ptr<const Impl> make(std::shared_ptr<Graph> graph, std::vector<Output> args,
                                          std::vector<Output> results, Nest<TensorType> spec,
                                          Nest<TensorType> result_spec, uint64_t entropy,
                                          std::vector<Output> captures = {});
  std::shared_ptr<const Impl> impl_;
};

}  // namespace systole
