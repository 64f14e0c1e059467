#include "systole/graph/core/graph_def_node.h"

#include "systole/graph/core/host_op.h"

namespace systole {

const Output& ImportContext::input(size_t i) const {
  if (i < inputs.size()) return inputs[i];
  throw invalid_argument("inputs of {}, got {}, expected more than {}", op.name, inputs.size(), i);
}

const Variable& ImportContext::variable() const {
  for (const auto& [key, variable] : *variables) {
    if (variable.handle() == input(0)) return variable;
  }
  throw invalid_argument("variable, got another tensor, expected a handle");
}

std::vector<Output> ImportContext::add(std::vector<Output> node_inputs, AttrMap node_attrs) const {
  node_attrs.erase(std::string(kFilesAttr));
  // The graph layer has no files: kernels that open some are all of the session.
  if (files && op.host == kernel_of_session) node_attrs[std::string(kFilesAttr)] = *files;
  return Graph::current()
      .add_node(op.name, std::move(node_inputs), std::move(node_attrs), {}, name)
      ->outputs();
}

std::vector<std::string> ExportContext::inputs() const {
  std::vector<std::string> references;
  for (const Output& input : node.inputs()) references.push_back(reference(input));
  return references;
}

std::string ExportContext::add_constant(std::string name, const Tensor& value) {
  records.push_back({"Const", std::move(name), {}, {{"dtype", value.dtype()}, {"value", value}}});
  return reference_record(records.back().name, "output");
}

}  // namespace systole
