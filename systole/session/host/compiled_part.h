// A part of a graph that the CPU computes for the host: compiled once for the types it is given.
#pragma once

#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <span>
#include <vector>

#include "systole/graph/api/graph.h"
#include "systole/graph/lowering/specialize.h"
#include "systole/runtime/client.h"
#include "systole/session/host/random_draw.h"

namespace systole {

// Programs of one thread on the backend "cpu". A small integer input that an op needs when it is
// compiled (a shape that a record says) makes a program for each of its values. Thread-safe.
class CompiledPart {
 public:
  // The graph must outlive it, and have no variable there. `entropy` is what random ops without
  // seeds draw from.
  CompiledPart(const Graph& graph, std::vector<Output> inputs, std::vector<Output> fetches,
               std::vector<Node*> targets = {}, uint64_t entropy = 0);
  ~CompiledPart();

  // Errors: see specialize() and Client::compile(); a failed check's own.
  void run(std::span<const Tensor* const> inputs, std::span<Tensor> fetched,
           const RandomDraw& draw = {});

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> find(std::span<const Tensor* const> inputs) const;
  std::shared_ptr<const Compiled> compile(std::span<const Tensor* const> inputs);
  std::shared_ptr<const Compiled> compile_for(std::span<const Tensor* const> inputs, bool by_value,
                                              bool* wants_value) const;

  const Graph& graph_;
  std::vector<Output> inputs_;
  std::vector<Output> fetches_;
  std::vector<Node*> targets_;
  uint64_t entropy_;
  mutable std::shared_mutex mutex_;  // guards the members below
  std::vector<std::shared_ptr<const Compiled>> compiled_;
  bool by_value_ = false;
};

}  // namespace systole
