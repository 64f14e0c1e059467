#include "systole/graph/testing/math_op_cases.h"

namespace systole::graph_testing {

std::vector<OpCase> math_op_cases() {
  std::vector<OpCase> all;
  for (auto cases :
       {unary_op_cases, binary_op_cases, comparison_op_cases, product_op_cases, reduction_op_cases,
        math_gradient_cases, math_error_cases, dtype_error_cases}) {
    for (OpCase& row : cases()) all.push_back(std::move(row));
  }
  return all;
}

}  // namespace systole::graph_testing
