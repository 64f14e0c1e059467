// A graph as a function on host tensors: what a data set maps its elements with.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "systole/base/nest.h"
#include "systole/graph/api/graph.h"
#include "systole/session/host/random_draw.h"

namespace systole {

struct HostFunctionOptions {
  // What random ops without seeds draw from.
  uint64_t entropy = 0;
  // What is captured and follows from more than constants becomes an argument behind the others.
  bool takes_values = false;
};

// A part of a graph without variables. String, parsing and image ops run as host kernels; the
// numeric ops between them are compiled for one thread of this machine's CPU, once for the types
// they are given. A value type: copies share the compiled programs. Thread-safe.
class HostFunction {
 public:
  // `args` are outputs of the graph, placeholders usually; `results` is what they determine.
  // Errors: INVALID_ARGUMENT for outputs of other graphs; UNIMPLEMENTED for variables.
  HostFunction(std::shared_ptr<Graph> graph, std::vector<Output> args, std::vector<Output> results,
               const HostFunctionOptions& options = {});

  using Traced = std::function<Nest<Output>(const Nest<Output>&)>;
  // Calls `fn` once, on placeholders of `spec`, in a graph of its own; random ops in it follow the
  // seed of the current graph. A tensor of the current graph, or of one around it, is a constant of
  // the function, computed here; or one of captures(), if it `takes_values`. Errors: what `fn`
  // throws; INVALID_ARGUMENT for such a tensor that follows from a variable, or from a placeholder
  // or a random op and is not taken, and for one of another graph.
  static HostFunction trace(const Nest<TensorType>& spec, const Traced& fn,
                            const HostFunctionOptions& options = {});

  // The results for these arguments, by value; the n-th call draws the n-th random numbers.
  // Errors: INVALID_ARGUMENT for a wrong number, dtype or shape; what the ops throw, with the node.
  std::vector<Tensor> operator()(std::span<const Tensor> arguments) const;
  // The same with a number in place of the count of calls: equal numbers draw equal values, from
  // whichever thread. `draw.entropy` comes to the function's own.
  std::vector<Tensor> run(std::span<const Tensor> arguments, const RandomDraw& draw) const;

  // The same into `results`, one tensor a result: numbers that compiled ops give are written into
  // the memory of a tensor that has their type and that nobody shares; others are replaced.
  void run_into(std::span<const Tensor> arguments, const RandomDraw& draw,
                std::span<Tensor> results) const;

  const Graph& graph() const;
  std::span<const Output> arguments() const;
  std::span<const Output> results() const;
  // The tensors of the graph around it whose values it wants for its last arguments.
  std::span<const Output> captures() const;
  // The types of arguments, but for those of captures(), and results, as `trace` got and gave them;
  // of a function made of lists, tuples.
  const Nest<TensorType>& argument_spec() const;
  const Nest<TensorType>& result_spec() const;

  // It draws random numbers, so that equal arguments may give different results.
  bool is_random() const;
  // The same function on a batch: every result, and every argument but captures(), has a new first
  // dimension. The single-example parser becomes the batched one. nullopt when it is not known that
  // each row is computed by itself and in the same way. Made by the first call.
  std::optional<HostFunction> vectorized() const;

  // The nodes, a line each, in the order in which they run.
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
