// Runs graphs in tests of the graph layer, without the session layer: specialises and evaluates.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <vector>

#include "systole/graph/core/graph.h"
#include "systole/graph/lowering/specialize.h"

namespace systole::graph_testing {

// A module's main, ready to run any number of times.
using Runner = std::function<std::vector<Tensor>(std::span<const Tensor> arguments)>;
// Makes a runner of a module, which must outlive it: the reference evaluator, or a backend in
// conformance tests.
using Executor = std::function<Runner(const hlo::Module& module)>;
Runner evaluate_by_reference(const hlo::Module& module);

using FeedList = std::vector<std::pair<Output, Tensor>>;

// Variables and random counts live as long as it does. Not thread-safe.
class MiniSession {
 public:
  // `seed` is what ops without seeds draw from.
  explicit MiniSession(uint64_t seed = 0, Executor executor = evaluate_by_reference)
      : seed_(seed), executor_(std::move(executor)) {}

  // Errors: those of specialize; a failed check; FAILED_PRECONDITION for a variable without a
  // value.
  std::vector<Tensor> run(const std::vector<Output>& fetches, const FeedList& feeds = {},
                          const std::vector<Operation>& targets = {});
  Tensor run(Output fetch, const FeedList& feeds = {}) { return run(std::vector{fetch}, feeds)[0]; }
  void run(Operation target, const FeedList& feeds = {}) { run({}, feeds, {target}); }

 private:
  std::vector<Tensor> arguments(const SpecializedProgram& program, const FeedList& feeds);

  uint64_t seed_;
  Executor executor_;
  std::map<const Node*, Tensor> variables_;
  std::map<const Node*, uint64_t> times_run_;
};

// The value of one tensor of the current graph, without state.
Tensor evaluate(Output fetch, const FeedList& feeds = {});
std::vector<Tensor> evaluate(const std::vector<Output>& fetches, const FeedList& feeds = {});

// The message of the Error that `f` throws; "no error" when it throws none.
std::string error_of(const std::function<void()>& f);

}  // namespace systole::graph_testing
