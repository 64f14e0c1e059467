// Attribute values of graph nodes, as GraphDef knows them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "systole/base/tensor.h"

namespace systole {

class Graph;

// A graph as a function: its inputs are the nodes `arguments`, its outputs `results` (see Graph).
using FunctionRef = std::shared_ptr<const Graph>;

using AttrValue = std::variant<bool, int64_t, double, std::string, DType, Shape, Tensor,
                               std::vector<int64_t>, std::vector<std::string>, FunctionRef>;
using AttrMap = std::map<std::string, AttrValue, std::less<>>;

}  // namespace systole
