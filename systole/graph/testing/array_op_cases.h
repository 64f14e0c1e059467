// The rows that check array_ops.h, for the graph layer's tests and for conformance tests of
// backends.
#pragma once

#include <vector>

#include "systole/graph/testing/op_tester.h"

namespace systole::graph_testing {

// All of the below.
std::vector<OpCase> array_op_cases();

std::vector<OpCase> shape_op_cases();          // reshape .. broadcast_to, order of elements
std::vector<OpCase> join_op_cases();           // concat, stack, unstack, split, slice, pad, tile
std::vector<OpCase> strided_slice_op_cases();  // against Python's rules
std::vector<OpCase> lookup_op_cases();         // gather, one_hot, top_k, range
std::vector<OpCase> fill_op_cases();         // fill, zeros_like, constant, identity, stop_gradient
std::vector<OpCase> array_function_cases();  // array_functions.h
std::vector<OpCase> array_error_cases();     // what fails while a graph is built or specialised

}  // namespace systole::graph_testing
