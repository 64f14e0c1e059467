// A part of a host function that is compiled, once for each set of input types.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "systole/base/mutex.h"
#include "systole/graph/core/graph.h"
#include "systole/graph/lowering/specialize.h"
#include "systole/runtime/client.h"
#include "systole/session/host/random_draw.h"

namespace systole {

// Compiles for one thread of the backend "cpu". If an op needs a small integer input as a constant
// (a shape that a record holds), compiles a program for each value of it. Keeps the last 64
// programs. Thread-safe.
class CompiledPart {
 public:
  // Borrows the graph, whose part has no variables. Random ops without seeds draw from `entropy`.
  CompiledPart(const Graph& graph, std::vector<Output> inputs, std::vector<Output> fetches,
               std::vector<Node*> targets = {}, uint64_t entropy = 0);
  ~CompiledPart();

  // Errors: those of specialize() and Client::compile(); that of a failed check.
  void run(std::span<const Tensor* const> inputs, std::span<Tensor> fetched,
           const RandomDraw& draw = {});

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> find(std::span<const Tensor* const> inputs) const
      SYSTOLE_REQUIRES_SHARED(mutex_);
  std::shared_ptr<const Compiled> compile(std::span<const Tensor* const> inputs);
  std::shared_ptr<const Compiled> compile_for(std::span<const Tensor* const> inputs, bool by_value,
                                              bool* wants_value) const;

  const Graph& graph_;
  std::vector<Output> inputs_;
  std::vector<Output> fetches_;
  std::vector<Node*> targets_;
  uint64_t entropy_;
  mutable SharedMutex mutex_;
  std::vector<std::shared_ptr<const Compiled>> compiled_ SYSTOLE_GUARDED_BY(mutex_);
  bool by_value_ SYSTOLE_GUARDED_BY(mutex_) = false;
};

}  // namespace systole
