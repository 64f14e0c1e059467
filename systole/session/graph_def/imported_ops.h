// Nodes of TensorFlow's graphs as nodes of ours.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "systole/graph/api/graph.h"
#include "systole/graph/api/variable.h"

namespace systole {

struct ImportedNode {
  std::string what;  // begins messages
  std::string op;
  std::string name;
  std::vector<Output> inputs;
  AttrMap attrs;
  bool ours = false;  // as ImportOptions::ours
};

// Whether import_op takes nodes of this op.
bool can_import(std::string_view op, bool ours);

// Adds to the current graph what a node is; gives its outputs. Variables are added to `variables`.
std::vector<Output> import_op(const ImportedNode& node, std::map<std::string, Variable>& variables);

}  // namespace systole
