// The rows that check math_ops.h, for the graph layer's tests and for conformance tests of
// backends.
#pragma once

#include <vector>

#include "systole/graph/testing/op_tester.h"

namespace systole::graph_testing {

// All of the below.
std::vector<OpCase> math_op_cases();

std::vector<OpCase> unary_op_cases();       // elementwise functions, activations, conversions
std::vector<OpCase> binary_op_cases();      // arithmetic, broadcasting
std::vector<OpCase> comparison_op_cases();  // comparisons, logic, choice
std::vector<OpCase> product_op_cases();     // matmul, tensordot, einsum
std::vector<OpCase> reduction_op_cases();   // reductions, argmax, cumsum, norms, clipping
std::vector<OpCase> math_gradient_cases();  // gradients at ties, kinks and zeros
std::vector<OpCase> math_error_cases();     // what fails while a graph is built
std::vector<OpCase> dtype_error_cases();    // of it, dtypes that an op does not have

}  // namespace systole::graph_testing
