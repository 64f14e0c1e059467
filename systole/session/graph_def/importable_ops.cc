#include "systole/session/graph_def/importable_ops.h"

#include <algorithm>
#include <unordered_map>

#include "systole/io/proto/graph.pb.h"

namespace systole {
namespace {

using OpsByName = std::unordered_map<std::string_view, const OpDef*>;

void add_names(const OpDef& op, OpsByName& ops) {
  ops.emplace(op.name, &op);
  std::string_view rest = op.graph_def.aliases;
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find(' '));
    ops.emplace(name, &op);
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
  }
}

}  // namespace

const OpDef* find_op_or_null(std::string_view name) {
  static const OpsByName kOps = [] {
    OpsByName ops;
    for (const OpDef* op : all_op_defs()) ops.emplace(op->name, op);
    return ops;
  }();
  const auto it = kOps.find(name);
  return it == kOps.end() ? nullptr : it->second;
}

const OpDef* op_for_import(const tensorflow::NodeDef& node) {
  static const OpsByName kOps = [] {
    OpsByName ops;
    for (const OpDef* op : all_op_defs()) add_names(*op, ops);
    for (const OpDef& op : translated_ops()) add_names(op, ops);
    return ops;
  }();
  const auto it = kOps.find(node.op());
  if (it == kOps.end()) return nullptr;
  const bool marked = node.attr().contains(std::string(kMarkOfOurs));
  return it->second->graph_def.tensorflow == TensorFlowOp::other && !marked ? nullptr : it->second;
}

}  // namespace systole
