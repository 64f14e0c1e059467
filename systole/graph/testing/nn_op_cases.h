// The rows that check nn_ops.h, for the graph layer's tests and for conformance tests of backends.
#pragma once

#include <vector>

#include "systole/graph/testing/op_tester.h"

namespace systole::graph_testing {

// All of the below.
std::vector<OpCase> nn_op_cases();

std::vector<OpCase> attention_op_cases();      // attention
std::vector<OpCase> softmax_op_cases();        // softmax, cross entropies
std::vector<OpCase> convolution_op_cases();    // conv2d, depthwise_conv2d, conv3d
std::vector<OpCase> pooling_op_cases();        // max_pool, avg_pool, and those of volumes
std::vector<OpCase> normalization_op_cases();  // moments, batch norm, bias_add, dropout
std::vector<OpCase> nn_error_cases();          // what fails while a graph is built

}  // namespace systole::graph_testing
