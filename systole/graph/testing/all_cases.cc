#include "systole/graph/testing/all_cases.h"

#include "systole/graph/testing/array_op_cases.h"
#include "systole/graph/testing/control_flow_op_cases.h"
#include "systole/graph/testing/debugging_op_cases.h"
#include "systole/graph/testing/image_op_cases.h"
#include "systole/graph/testing/math_op_cases.h"
#include "systole/graph/testing/nn_op_cases.h"
#include "systole/graph/testing/quantization_op_cases.h"
#include "systole/graph/testing/random_op_cases.h"

namespace systole::graph_testing {
namespace {

template <class T>
std::vector<T> joined(std::initializer_list<std::vector<T>> lists) {
  std::vector<T> result;
  for (const std::vector<T>& list : lists) result.insert(result.end(), list.begin(), list.end());
  return result;
}

}  // namespace

std::vector<OpCase> all_op_cases() {
  return joined({math_op_cases(), array_op_cases(), nn_op_cases(), control_flow_op_cases(),
                 random_op_cases(), image_op_cases(), debugging_op_cases(),
                 quantization_op_cases()});
}

std::vector<SessionCase> all_session_cases() { return joined({variable_cases(), update_cases()}); }

void for_each_node(const Graph& graph, const std::function<void(const Node&)>& f) {
  for (const auto& node : graph.nodes()) {
    f(*node);
    for (const auto& [name, value] : node->attrs()) {
      if (const auto* function = std::get_if<FunctionRef>(&value)) for_each_node(**function, f);
    }
  }
}

}  // namespace systole::graph_testing
