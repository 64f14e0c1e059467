// How a node comes into a graph: by its op, which checks its inputs and infers its types.
#include <algorithm>
#include <utility>

#include "systole/graph/core/dtype_class.h"
#include "systole/graph/core/gradient_override.h"
#include "systole/graph/core/graph.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/core/op_def.h"
#include "systole/graph/core/op_signature.h"
#include "systole/graph/core/unranked.h"
#include "systole/graph/core/where_scope.h"

namespace systole {
namespace {

// Rules of the op's registration, so that inference and lowering may rely on them: the number of
// inputs, and no handle where a value belongs. A node that is written in another form has other
// inputs than the registration.
void check_inputs(const OpDef& op, std::span<const Output> inputs) {
  if (op.graph_def.export_node != nullptr) return;
  const OpSignature& signature = signature_of(op);
  const auto least = static_cast<size_t>(signature.min_inputs());
  const size_t got = inputs.size();
  if (got < least || (got > least && !signature.takes_more())) {
    throw invalid_argument("inputs, got {}, expected {}{}", got, least,
                           signature.takes_more() ? " or more" : "");
  }
  if (signature.takes_more() || op.traits.passes_on == PassesOn::value) return;
  for (size_t i = 0; i < got; ++i) {
    const SignatureArg& arg = signature.inputs[i];
    if (inputs[i].dtype() != DType::resource || arg.type_attr.empty()) continue;
    throw invalid_argument("{}, got the handle '{}', expected a value: read the variable", arg.name,
                           inputs[i].name());
  }
}

void check_outputs(std::span<const TensorType> types) {
  for (const TensorType& type : types) {
    if (!is_numeric(type.dtype) || is_graph_dtype(type.dtype)) continue;
    throw invalid_argument("output, got {}, expected a dtype that graphs have", type);
  }
}

}  // namespace

std::string_view Node::op_name() const { return op_->name; }

Node* Graph::add_node(std::string_view op_name, std::vector<Output> inputs, AttrMap attrs,
                      SourceLocation where, std::string_view name) {
  const OpDef& op = find_op_def(op_name);
  if (const SourceLocation outermost = WhereScope::current(); outermost.known()) where = outermost;
  auto node = std::make_unique<Node>();
  node->op_ = &op;
  node->graph_ = this;
  node->where_ = where;
  node->attrs_ = std::move(attrs);
  if (const std::string* gradient = GradientOverrideMap::find(op_name)) {
    node->attrs_.insert_or_assign(std::string(kGradientOpType), *gradient);
  }
  node->name_ = node_name(name.empty() ? op_name : name);
  try {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].valid()) throw invalid_argument("input {}, got none, expected a tensor", i);
      inputs[i] = capture(inputs[i]);
    }
    check_inputs(op, inputs);
    node->inputs_ = std::move(inputs);
    if (op.infer != nullptr) node->output_types_ = op.infer({op_name, node->inputs_, node->attrs_});
    check_outputs(node->output_types_);
    if (std::ranges::any_of(node->inputs_,
                            [](const Output& input) { return is_unranked(input); })) {
      node->attrs_.emplace(kUnranked, true);
    }
  } catch (const Error& error) {
    throw at_node(error, *node);
  }
  node->id_ = static_cast<int>(nodes_.size());  // captures may have added nodes
  for (const auto& scope : control_scopes_) {
    for (Node* control : scope) {
      if (std::ranges::find(node->control_inputs_, control) == node->control_inputs_.end()) {
        node->control_inputs_.push_back(control);
      }
    }
  }
  ++root().nodes_made_;
  by_name_[node->name_] = node.get();
  nodes_.push_back(std::move(node));
  return nodes_.back().get();
}

}  // namespace systole
