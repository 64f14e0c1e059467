// Assignments and lists of variables under the names that TensorFlow's functions have.
// (tensorflow/python/ops/state_ops.py, variables.py)
#pragma once

#include <string_view>
#include <vector>

#include "systole/graph/core/variable.h"

namespace systole {

// ref.assign(value) and so on: each gives the variable's value after it.
Output assign(const Variable& ref, const Input& value);
Output assign_add(const Variable& ref, const Input& value);
Output assign_sub(const Variable& ref, const Input& value);

// Return the variables of the lists whose names begin with `scope`: "Generator/" names the
// variables of a scope.
std::vector<Variable> global_variables(std::string_view scope);
std::vector<Variable> trainable_variables(std::string_view scope);
std::vector<Variable> local_variables(std::string_view scope);

// One op that runs the initialisers of all local variables, such as those of metrics.
Operation local_variables_initializer();

// What stands in a collection of the current graph, in the order of adding; those of type T, whose
// names begin with `scope`: get_collection<Output>(graph_keys::losses). (tf.get_collection)
template <class T = Variable>
std::vector<T> get_collection(std::string_view key, std::string_view scope = {}) {
  return Graph::current().root().collection<T>(key, scope);
}

}  // namespace systole
