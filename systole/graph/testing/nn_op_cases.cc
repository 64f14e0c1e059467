#include "systole/graph/testing/nn_op_cases.h"

namespace systole::graph_testing {

std::vector<OpCase> nn_op_cases() {
  std::vector<OpCase> all;
  for (auto cases : {attention_op_cases, softmax_op_cases, convolution_op_cases, pooling_op_cases,
                     normalization_op_cases, nn_error_cases}) {
    for (OpCase& row : cases()) all.push_back(std::move(row));
  }
  return all;
}

}  // namespace systole::graph_testing
