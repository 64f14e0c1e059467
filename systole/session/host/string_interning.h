// Ops of arrays on arrays of strings: reshape, slice, stack, gather, equal and the like.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "systole/base/mutex.h"
#include "systole/graph/core/graph.h"

namespace systole {

// Runs ops that move or compare strings on numbers instead: gives each distinct string of a call a
// number, runs the compiled op on the numbers, and maps the results back to strings. Keeps one
// program for each node and set of shapes. Thread-safe.
class StringInterning {
 public:
  StringInterning();
  ~StringInterning();
  // Returns the results of the node. REQUIRES: moves_strings(node). Errors: UNIMPLEMENTED for an op
  // that computes with its elements; those of the op.
  std::vector<Tensor> run(const Node& node, std::span<const Tensor> inputs);

 private:
  struct Move;
  std::shared_ptr<Move> find_or_make(const Node& node, std::span<const Tensor> inputs);

  Mutex mutex_;
  std::map<std::string, std::shared_ptr<Move>> moves_ SYSTOLE_GUARDED_BY(mutex_);
};

}  // namespace systole
