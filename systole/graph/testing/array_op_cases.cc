#include "systole/graph/testing/array_op_cases.h"

namespace systole::graph_testing {

std::vector<OpCase> array_op_cases() {
  std::vector<OpCase> all;
  for (auto cases : {shape_op_cases, join_op_cases, strided_slice_op_cases, lookup_op_cases,
                     fill_op_cases, array_function_cases, array_error_cases}) {
    for (OpCase& row : cases()) all.push_back(std::move(row));
  }
  return all;
}

}  // namespace systole::graph_testing
