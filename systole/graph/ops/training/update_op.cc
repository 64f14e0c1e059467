#include "systole/graph/ops/training/update_op.h"

#include <algorithm>
#include <memory>

#include "systole/graph/core/op_signature.h"
#include "systole/graph/core/where_scope.h"
#include "systole/graph/lowering/rows.h"
#include "systole/graph/lowering/specialize.h"
#include "systole/graph/ops/state/variable_ops.h"
#include "systole/graph/optimizers/update_step.h"

namespace systole {
namespace {

constexpr std::string_view kForAll = "ResourceApply";
constexpr std::string_view kForRows = "ResourceSparseApply";
constexpr std::string_view kCentered = "Centered";

bool is_of_rows(std::string_view op) { return op.starts_with(kForRows); }

// The name that rules have for an input: TensorFlow has others in one op.
std::string_view rule_name(std::string_view input) {
  if (input == "alpha") return "lr";
  return input == "delta" ? "grad" : input;
}

bool is_handle(const SignatureArg& arg) { return arg.dtype == DType::resource; }

const OptimizerDef& rule_of(std::string_view op) {
  std::string_view name = op.substr((is_of_rows(op) ? kForRows : kForAll).size());
  if (name.starts_with(kCentered)) name.remove_prefix(kCentered.size());
  for (const OptimizerDef* def : all_optimizer_defs()) {
    if (def->op == name) return *def;
  }
  throw internal_error("{}: no optimizer has this op", op);
}

// The arguments that are flags. The numbers are inputs.
OptimizerArguments flags_of(const Node& node) {
  OptimizerArguments flags;
  flags.values["centered"] = node.op_name().find(kCentered) != std::string_view::npos;
  for (const auto& [name, value] : node.attrs()) {
    if (const bool* flag = std::get_if<bool>(&value)) flags.values[name] = *flag;
  }
  return flags;
}

// A node's update as a function of the values of its variables, of its gradient and its scalars.
// Returns the new values of the variable and of the slots that change.
struct UpdateFunction {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  std::vector<std::string> assigned = {};  // slots, after the variable
};

UpdateFunction make_function(const Node& node, const std::vector<std::string_view>& names,
                             const std::vector<hlo::Value>& values) {
  UpdateFunction made;
  const WhereScope where(node.where());
  const GraphScope scope(*made.graph);
  UpdateStep::Inputs inputs;
  const auto& signature = signature_of(node.op()).inputs;
  for (size_t i = 0; i < names.size(); ++i) {
    const Output argument = made.graph->add_argument(values[i].type(), names[i]);
    const auto arg = std::ranges::find_if(
        signature, [&](const SignatureArg& one) { return rule_name(one.name) == names[i]; });
    if (names[i] == "var") {
      inputs.variable = argument;
    } else if (names[i] == "grad") {
      inputs.gradient = argument;
    } else {
      (is_handle(*arg) ? inputs.slots : inputs.scalars)[std::string(names[i])] = argument;
    }
  }
  const OptimizerArguments flags = flags_of(node);
  const UpdateStep step = run_update(rule_of(node.op_name()), flags, std::move(inputs));
  std::vector<Output> results = {step.new_variable()};
  for (const auto& [slot, value] : step.new_slots()) {
    made.assigned.push_back(slot);
    results.push_back(value);
  }
  made.graph->set_results(std::move(results));
  return made;
}

}  // namespace

const OpDef* find_update_op(const OptimizerDef& def, const OptimizerArguments& arguments,
                            bool of_rows) {
  if (def.op.empty()) return nullptr;
  std::string name(of_rows ? kForRows : kForAll);
  if (arguments.flag("centered")) name += kCentered;
  name += def.op;
  const auto ops = all_op_defs();
  const auto it = std::ranges::find(ops, std::string_view(name), &OpDef::name);
  return it == ops.end() ? nullptr : *it;
}

Operation add_update_op(const OpDef& op, const OptimizerArguments& arguments,
                        const std::function<Output(std::string_view name)>& input) {
  const OpSignature& signature = signature_of(op);
  std::vector<Output> inputs;
  for (const SignatureArg& arg : signature.inputs) inputs.push_back(input(rule_name(arg.name)));
  AttrMap attrs;
  for (const SignatureAttr& attr : signature.attrs) {
    if (attr.kind != AttrKind::boolean) continue;
    const bool given = arguments.values.contains(attr.name);
    attrs[attr.name] = given ? AttrValue(arguments.flag(attr.name)) : attr.fallback.value();
  }
  return Graph::current().add_node(op.name, std::move(inputs), std::move(attrs));
}

std::vector<TensorType> infer_update_op(const InferContext& c) {
  const Node& variable = variable_node(c.inputs[0]);
  const TensorType type = variable_type(variable);
  if (!is_floating(type.dtype)) {
    throw invalid_argument("variable '{}', got {}, expected a floating dtype",
                           c.inputs[0].node()->name(), type);
  }
  const bool of_rows = is_of_rows(c.op_name);
  const auto& signature = signature_of(find_op_def(c.op_name)).inputs;
  for (size_t i = 0; i < signature.size(); ++i) {
    const std::string_view name = rule_name(signature[i].name);
    const Output& input = c.inputs[i];
    if (is_handle(signature[i])) {
      const TensorType slot = variable_type(variable_node(input));
      if (slot != type) {
        throw invalid_argument("slot '{}', got {}, expected the variable's {}",
                               input.node()->name(), slot, type);
      }
      continue;
    }
    if (of_rows && name == "grad") {
      check_rows(c, variable, static_cast<int>(i) + 1, static_cast<int>(i));
    }
    if (of_rows && (name == "grad" || name == "indices")) continue;
    const Shape expected = name == "grad" ? type.shape : Shape{};
    if (input.dtype() != type.dtype || !input.shape().compatible_with(expected)) {
      throw invalid_argument("{} '{}', got {}, expected {}",
                             name == "grad" ? "gradient" : "hyperparameter", input.name(),
                             input.type(), TensorType{type.dtype, expected});
    }
  }
  return {};
}

std::vector<hlo::Value> lower_update_op(LowerContext& c) {
  const auto& signature = signature_of(c.node.op()).inputs;
  hlo::Value indices;
  for (size_t i = 0; i < signature.size(); ++i) {
    if (signature[i].name == "indices") indices = c.inputs[i];
  }
  const auto read = [&](int input) {
    return c.lowering.read_variable(variable_node(c.node.input(input)), /*at_start=*/false);
  };
  std::vector<std::string_view> names;
  std::vector<hlo::Value> values;
  std::map<std::string_view, int> handles;
  for (int i = 0; i < c.num_inputs(); ++i) {
    const SignatureArg& arg = signature[i];
    if (arg.name == "indices") continue;
    names.push_back(rule_name(arg.name));
    if (!is_handle(arg)) {
      values.push_back(c.input(i));
      continue;
    }
    handles[arg.name] = i;
    values.push_back(indices ? gather_rows(c.b, read(i), indices) : read(i));
  }
  const UpdateFunction update = make_function(c.node, names, values);
  c.lowering.keep(update.graph);
  const std::vector<hlo::Value> results = c.lowering.lower_function(*update.graph, c.b, values);
  for (size_t i = 0; i < results.size(); ++i) {
    const int input = i == 0 ? 0 : handles.at(update.assigned[i - 1]);
    const hlo::Value now =
        indices ? replace_rows(c.b, read(input), indices, results[i]) : results[i];
    c.lowering.assign_variable(variable_node(c.node.input(input)), now);
  }
  return {};
}

}  // namespace systole
