#include "systole/graph/core/op_def.h"

#include <unordered_map>

#include "systole/base/suggest.h"

namespace systole {

const OpDef& find_op_def(std::string_view name) {
  static const auto kByName = [] {
    std::unordered_map<std::string_view, const OpDef*> by_name;
    for (const OpDef* op : all_op_defs()) by_name[op->name] = op;
    return by_name;
  }();
  const auto it = kByName.find(name);
  if (it != kByName.end()) return *it->second;
  std::vector<std::string> names;
  for (const OpDef* op : all_op_defs()) names.emplace_back(op->name);
  throw not_found("op, got '{}', expected one of {} ops{}", name, names.size(),
                  did_you_mean(name, names));
}

Output GradientContext::grad(int i) const {
  const Output& given = output_gradients[i];
  if (given.valid()) return given;
  return Graph::current().add_node("ZerosLike", {output(i)})->output();
}

}  // namespace systole
