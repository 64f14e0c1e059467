// The op profile: trees of ops with their time, FLOP/s and bandwidth.
//
//   time         share of the time of all ops (self times, so that children add up)
//   flops        FLOP / (time x peak FLOP/s), at most 1; uncappedFlops without the limit
//   bandwidth    bytes of operands and results / (time x peak bandwidth), at most 1
//   wastedTime   time x (1 - max(flops, bandwidth))
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "systole/profile/pages.h"

namespace systole::profile {
namespace {

using nlohmann::json;

struct Node {
  std::string name;
  bool category = false;
  const OpTime* op = nullptr;
  double seconds = 0, flops = 0, bytes = 0, runs = 0;
  std::map<std::string, Node> children = {};
};

void add_op(Node& node, const OpTime& op) {
  node.seconds += op.seconds;
  node.flops += op.op->flops * op.runs;
  node.bytes += op.op->bytes * op.runs;
  node.runs += op.runs;
}

json metrics_of(const Node& node, double all, const DevicePeaks& peaks) {
  const auto share = [](double amount, double seconds, double peak) {
    return seconds > 0 && peak > 0 ? amount / seconds / peak : 0;
  };
  const double flops = share(node.flops, node.seconds, peaks.flops_per_second);
  const double bandwidth = share(node.bytes, node.seconds, peaks.bytes_per_second);
  const double time = all > 0 ? node.seconds / all : 0;
  const double use = std::min(std::max(flops, bandwidth), 1.0);
  return {{"time", time},
          {"flops", std::min(flops, 1.0)},
          {"uncappedFlops", flops},
          {"memoryBandwidth", std::min(bandwidth, 1.0)},
          {"bandwidthUtils", json::array({std::min(bandwidth, 1.0)})},
          {"wastedTime", time * (1 - use)},
          {"rawTime", 1e12 * node.seconds},
          {"rawFlops", node.flops},
          {"rawBytesAccessed", node.bytes},
          {"occurrences", node.runs},
          {"avgTimePs", node.runs > 0 ? 1e12 * node.seconds / node.runs : 0}};
}

json xla_of(const OpTime& op) {
  return {{"op", op.op->opcode},        {"expression", op.op->expression},
          {"provenance", op.op->scope}, {"category", op.op->category},
          {"source", op.op->source},    {"programId", op.program->id}};
}

json tree_of(const Node& node, double all, const DevicePeaks& peaks) {
  json result = {{"name", node.name}, {"metrics", metrics_of(node, all, peaks)}};
  if (node.op != nullptr) result["xla"] = xla_of(*node.op);
  if (node.category) result["category"] = json::object();
  std::vector<const Node*> children;
  for (const auto& [key, child] : node.children) children.push_back(&child);
  std::ranges::stable_sort(children, std::greater(), &Node::seconds);
  json list = json::array();
  for (const Node* child : children) list.push_back(tree_of(*child, all, peaks));
  result["children"] = std::move(list);
  result["numChildren"] = node.children.size();
  return result;
}

// Builds a tree of the paths that `path` gives each op; the ops are leaves.
json build(const Analysis& analysis, const char* name,
           const std::function<std::vector<std::string>(const OpTime&)>& path) {
  Node root{.name = name};
  for (const OpTime& op : analysis.ops) {
    Node* at = &root;
    add_op(root, op);
    for (const std::string& part : path(op)) {
      at = &at->children[part];
      at->name = part;
      at->category = true;
      add_op(*at, op);
    }
    Node& leaf = at->children[fmt::format("{}#{}", op.op->name, op.program->id)];
    leaf.name = op.op->name;
    leaf.op = &op;
    add_op(leaf, op);
  }
  return tree_of(root, root.seconds, analysis.peaks);
}

std::vector<std::string> scopes_of(const OpTime& op) {
  std::vector<std::string> parts;
  std::string_view rest = op.op->scope;
  while (!rest.empty()) {
    const size_t slash = std::min(rest.find('/'), rest.size());
    if (slash > 0) parts.emplace_back(rest.substr(0, slash));
    rest.remove_prefix(std::min(slash + 1, rest.size()));
  }
  if (parts.empty()) parts.emplace_back("(no name)");
  return parts;
}

}  // namespace

json op_profile_page(const Analysis& analysis) {
  return {{"byCategory",
           build(analysis, "byCategory",
                 [](const OpTime& op) { return std::vector<std::string>{op.op->category}; })},
          {"byProgram", build(analysis, "byProgram",
                              [](const OpTime& op) {
                                return std::vector<std::string>{
                                    fmt::format("{}({})", op.program->name, op.program->id),
                                    op.op->category};
                              })},
          {"byScope", build(analysis, "byScope", scopes_of)},
          {"bySource", build(analysis, "bySource",
                             [](const OpTime& op) {
                               return std::vector<std::string>{
                                   op.op->source.empty() ? "(no line)" : op.op->source};
                             })},
          {"deviceType", analysis.peaks.name}};
}

}  // namespace systole::profile
