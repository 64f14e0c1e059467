#include "systole/train/inference_program.h"

#include <unordered_map>

#include "systole/base/error.h"
#include "systole/hlo/ir/builder.h"

namespace systole {
namespace {

void check_for_inference(const SpecializedProgram& program) {
  const auto refuse = [](std::string_view what, const std::string& got) {
    throw invalid_argument("inference program: {}, got {}, expected none", what, got);
  };
  if (!program.random_nodes.empty()) {
    refuse("random ops", fmt::format("'{}'", program.random_nodes[0]->name()));
  }
  if (!program.updated.empty()) {
    const Node* variable = program.variables[program.updated[0]];
    refuse("updated variables", fmt::format("'{}'", variable->name()));
  }
  if (!program.checks.empty()) refuse("run-time checks", program.checks[0].message);
}

std::unordered_map<const Node*, Variable> variables_by_node(Graph& graph) {
  const GraphScope scope(graph);
  std::unordered_map<const Node*, Variable> variables;
  for (const Variable& variable : global_variables()) {
    variables[variable.handle().node()] = variable;
  }
  for (const Variable& variable : local_variables()) {
    variables[variable.handle().node()] = variable;
  }
  return variables;
}

}  // namespace

std::unique_ptr<hlo::Module> inference_program(Session& session, std::span<const Output> outputs,
                                               std::span<const Feed> feeds) {
  const SpecializedProgram program = specialize(session.graph(), outputs, {}, feeds);
  check_for_inference(program);
  const auto variables = variables_by_node(session.graph());
  const hlo::Computation& from = program.module->entry();
  auto result = std::make_unique<hlo::Module>(program.module->name());
  for (const auto& function : program.module->functions()) {
    if (function.get() == &from) continue;
    hlo::ValueMap map;
    result->add_function(function->name()).clone_from(*function, map);
  }
  hlo::Computation& main = result->add_function("main");
  hlo::Builder b(main);
  hlo::ValueMap map;
  int parameter = 0;
  for (size_t i = 0; i < program.variables.size(); ++i) {
    if (!program.variable_read[i]) continue;
    const auto found = variables.find(program.variables[i]);
    if (found == variables.end()) {
      throw not_found("inference program: variable '{}', got none in the graph's collections",
                      program.variables[i]->name());
    }
    map[from.parameter(parameter++)] = b.constant(session.variable_value(found->second));
  }
  for (; parameter < from.num_parameters(); ++parameter) {
    const hlo::Value value = from.parameter(parameter);
    map[value] = main.add_parameter(value.type(), value.def->metadata());
  }
  std::vector<hlo::Value> results = main.inline_from(from, map);
  results.resize(outputs.size());
  main.set_results(std::move(results));
  return result;
}

}  // namespace systole
