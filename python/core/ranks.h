// Placeholders without a shape: the graph of a run has the ranks of what is fed, and ops that need axes are built for a
// rank that they work with.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "systole/graph/functions/ranked_copy.h"
#include "values.h"

namespace systole::python {

// Fetches and feeds of a run, whose keys are tensors.
struct RunArguments {
  std::vector<nb::object> fetches;
  std::vector<std::pair<nb::object, nb::object>> feeds;
};

// Puts those of the graph's copy in their place where a placeholder without a shape is fed with axes. The last choices
// are kept. Under the GIL.
class RankedRuns {
 public:
  // Errors: ValueError where an op does not work on values of these ranks; those of tensor_of.
  void apply(RunArguments& run);

 private:
  struct Choice {
    std::vector<nb::object> fetches;
    std::vector<nb::object> keys;
    std::vector<int> ranks;
    RunArguments ranked;  // the values of the feeds are none
  };
  const Choice* find(const RunArguments& run, const std::vector<int>& ranks) const;

  std::vector<std::shared_ptr<const Choice>> choices_;  // the last made first
};

// What a call that failed gives where the placeholders without a shape that its values depend on have 1, 2, 3 or 4 axes:
// the first result without an error. An invalid object where there is none, or no such placeholder.
nb::object call_with_ranks(nb::dict values, const std::function<nb::object(nb::dict)>& call);

}  // namespace systole::python
