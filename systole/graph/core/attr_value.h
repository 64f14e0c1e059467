// Attribute values of graph nodes, as GraphDef knows them.
#pragma once

#include <initializer_list>
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

// The special members are not inline, here and in AttrMap: nearly every file copies or drops
// attributes.
struct AttrValue : std::variant<bool, int64_t, double, std::string, DType, Shape, Tensor,
                                std::vector<int64_t>, std::vector<std::string>, FunctionRef> {
  using variant::variant;
  AttrValue();
  AttrValue(const AttrValue&);
  AttrValue(AttrValue&&) noexcept;
  AttrValue& operator=(const AttrValue&);
  AttrValue& operator=(AttrValue&&) noexcept;
  ~AttrValue();
};

struct AttrMap : std::map<std::string, AttrValue, std::less<>> {
  AttrMap();
  AttrMap(std::initializer_list<value_type> values);
  AttrMap(const AttrMap&);
  AttrMap(AttrMap&&) noexcept;
  AttrMap& operator=(const AttrMap&);
  AttrMap& operator=(AttrMap&&) noexcept;
  ~AttrMap();
};

}  // namespace systole
