#include "systole/graph/api/state_ops.h"

namespace systole {

Output assign(const Variable& ref, const Input& value) { return ref.assign(value); }
Output assign_add(const Variable& ref, const Input& value) { return ref.assign_add(value); }
Output assign_sub(const Variable& ref, const Input& value) { return ref.assign_sub(value); }

std::vector<Variable> global_variables(std::string_view scope) {
  return get_collection(graph_keys::global_variables, scope);
}
std::vector<Variable> trainable_variables(std::string_view scope) {
  return get_collection(graph_keys::trainable_variables, scope);
}
std::vector<Variable> local_variables(std::string_view scope) {
  return get_collection(graph_keys::local_variables, scope);
}

Operation local_variables_initializer() { return variables_initializer(local_variables()); }

}  // namespace systole
