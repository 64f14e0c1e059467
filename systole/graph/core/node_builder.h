// What the user functions have in common: inputs become symbolic tensors of one dtype, and a node
// is added at the user's line.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "systole/graph/core/graph.h"
#include "systole/graph/core/op_options.h"

namespace systole {

using InputRefs = std::initializer_list<std::reference_wrapper<const Input>>;

// The dtype that literals among `inputs` take: that of the first input that is none; when all are
// literals, f32 if any has a fraction part's type, else the widest integer's.
DType common_dtype(InputRefs inputs);

// The inputs as symbolic tensors, literals with dtype `like`.
// Errors: INVALID_ARGUMENT `<op>: literal, got 0.5, expected a value of s32, at <file>:<line>`.
std::vector<Output> resolve(std::string_view op, InputRefs inputs, DType like);
Output resolve(std::string_view op, const Input& input, DType like = DType::invalid);

// `error` with the user's line after it (`where`, or that of the WhereScope in force), for errors
// of functions that add no node themselves.
Error at_line(const Error& error, SourceLocation where);

// `error` with the op's name before it and the node with its line after it, each unless the message
// has it: "MatMul: shapes, got ..., node 'dense/MatMul' at iris.cc:41".
Error at_node(const Error& error, const Node& node);

// Adds a node of `op` for inputs that share the dtype "T", literals among them taking it. The
// node's line is the first input's.
Output add_op(std::string_view op, InputRefs inputs, std::string_view name = {},
              AttrMap attrs = {});

// The same for ops on pred, which carry no "T".
Output add_logical_op(std::string_view op, InputRefs inputs, std::string_view name = {});

}  // namespace systole
