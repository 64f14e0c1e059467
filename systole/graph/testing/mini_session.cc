#include "systole/graph/testing/mini_session.h"

#include "systole/hlo/semantics/evaluator.h"
#include "systole/hlo/semantics/verifier.h"

namespace systole::graph_testing {

Runner evaluate_by_reference(const hlo::Module& module) {
  return [&module](std::span<const Tensor> arguments) {
    return hlo::Evaluator().run(module.entry(), arguments);
  };
}

std::vector<Tensor> MiniSession::arguments(const SpecializedProgram& program,
                                           const FeedList& feeds) {
  std::vector<Tensor> result;
  for (size_t i = 0; i < program.variables.size(); ++i) {
    const Node* variable = program.variables[i];
    if (!program.variable_read[i]) continue;
    const auto it = variables_.find(variable);
    if (it == variables_.end()) {
      throw failed_precondition("run: variable '{}', got no value, expected it initialised",
                                variable->name());
    }
    result.push_back(it->second);
  }
  for (const auto& [output, value] : feeds) result.push_back(value);
  if (!program.random_nodes.empty()) {
    std::vector<uint64_t> state = {seed_};
    for (const Node* node : program.random_nodes) state.push_back(times_run_[node]++);
    result.push_back(Tensor::of<uint64_t>({static_cast<int64_t>(state.size())}, state));
  }
  return result;
}

std::vector<Tensor> MiniSession::run(const std::vector<Output>& fetches, const FeedList& feeds,
                                     const std::vector<Operation>& targets) {
  std::vector<Feed> feed_types;
  for (const auto& [output, value] : feeds) feed_types.push_back({output, value.type()});
  std::vector<Node*> target_nodes;
  for (const Operation& target : targets) target_nodes.push_back(target.node());
  const Graph& graph = fetches.empty() ? targets.at(0).node()->graph() : fetches[0].graph();
  const SpecializedProgram program = specialize(graph, fetches, target_nodes, feed_types);
  hlo::verify(*program.module);
  std::vector<Tensor> results = executor_(*program.module)(arguments(program, feeds));
  size_t next = fetches.size() + program.updated.size();
  for (const auto& check : program.checks) {
    if (results[next++].item<bool>()) throw Error(check.code, check.message);
  }
  for (size_t i = 0; i < program.updated.size(); ++i) {
    const auto variable = static_cast<size_t>(program.updated[i]);
    variables_[program.variables[variable]] = results[fetches.size() + i];
  }
  results.resize(fetches.size());
  return results;
}

Tensor evaluate(Output fetch, const FeedList& feeds) { return MiniSession().run(fetch, feeds); }

std::vector<Tensor> evaluate(const std::vector<Output>& fetches, const FeedList& feeds) {
  return MiniSession().run(fetches, feeds);
}

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace systole::graph_testing
