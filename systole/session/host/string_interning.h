// Ops of arrays on arrays of strings: reshape, slice, stack, gather, equal and the like.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "systole/graph/api/graph.h"

namespace systole {

// What moves or compares elements does the same to numbers that stand for them: each distinct
// string of a run gets a number, the op runs on numbers, its results are turned back. One program
// is made for a node and the shapes it is given. Thread-safe.
class StringInterning {
 public:
  StringInterning();
  ~StringInterning();
  // The node's results. REQUIRES: moves_strings(node). Errors: UNIMPLEMENTED for an op that
  // computes with its elements; what the op throws.
  std::vector<Tensor> run(const Node& node, std::span<const Tensor> inputs);

 private:
  struct Move;
  std::shared_ptr<Move> find_or_make(const Node& node, std::span<const Tensor> inputs);

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Move>> moves_;
};

}  // namespace systole
