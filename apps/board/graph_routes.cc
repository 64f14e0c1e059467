// The graph of a run, from the newest GraphDef of its events. Nodes are read in place: a graph may
// hold large constants.
#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "apps/board/board.h"
#include "apps/board/json_text.h"
#include "apps/board/names.h"
#include "apps/board/routes.h"
#include "systole/io/proto/graph.pb.h"
#include "systole/io/wire/message.h"
#include "systole/io/wire/wire.h"

namespace systole::board {
namespace {

using nlohmann::json;
using wire::Reader;
using wire::Type;

constexpr size_t kMaxNodes = 200'000;
constexpr size_t kMaxNameBytes = 1000;

struct NodeView {
  std::string_view name;
  std::string_view op;
  std::string_view device;
  std::vector<std::string_view> inputs;
  std::string_view message;
};

NodeView read_node(std::string_view message) {
  NodeView node{.message = message};
  Reader reader(message);
  while (reader.next()) {
    if (reader.is(1, Type::bytes)) {
      node.name = reader.bytes();
    } else if (reader.is(2, Type::bytes)) {
      node.op = reader.bytes();
    } else if (reader.is(3, Type::bytes)) {
      node.inputs.push_back(reader.bytes());
    } else if (reader.is(4, Type::bytes)) {
      node.device = reader.bytes();
    } else {
      reader.skip();
    }
  }
  return node;
}

std::vector<NodeView> read_nodes(std::string_view graph) {
  std::vector<NodeView> nodes;
  Reader reader(graph);
  while (reader.next()) {
    if (!reader.is(1, Type::bytes)) {
      reader.skip();
      continue;
    }
    nodes.push_back(read_node(reader.bytes()));
    if (nodes.size() == kMaxNodes) break;
  }
  return nodes;
}

// The node of an input: "a:1" is output 1 of a, "^a" a control input.
std::string_view node_of_input(std::string_view input) {
  if (input.starts_with('^')) input.remove_prefix(1);
  return input.substr(0, input.find(':'));
}

std::string graph_of(const Board& board, const Request& request) {
  const auto run = run_of(board, request);
  std::optional<BlobRef> ref;
  {
    const auto hold = run->lock();
    ref = run->facts().graph;
  }
  if (!ref) {
    throw RequestError{404, fmt::format("Run '{}' has no graph in its events.", run->name())};
  }
  return run->read_event(*ref).text;
}

// {"nodes": [[name, op, [index of input, ...], [index of control input, ...]], ...]}
Response answer_graph(const Board& board, const Request& request) {
  const std::string graph = graph_of(board, request);
  const std::vector<NodeView> nodes = read_nodes(graph);
  absl::flat_hash_map<std::string, size_t, TextHash, std::equal_to<>> index;
  for (size_t i = 0; i < nodes.size(); ++i) index.emplace(nodes[i].name, i);
  std::string list;
  for (const NodeView& node : nodes) {
    json inputs = json::array();
    json controls = json::array();
    for (const std::string_view input : node.inputs) {
      const auto found = index.find(node_of_input(input));
      if (found == index.end()) continue;
      (input.starts_with('^') ? controls : inputs).push_back(found->second);
    }
    if (!list.empty()) list += ',';
    list += json_text({safe_text(node.name, kMaxNameBytes), safe_text(node.op, kMaxNameBytes),
                       std::move(inputs), std::move(controls)});
    check_size(list.size(), kMaxHeavyBytes);
  }
  return {.body = fmt::format("{{\"nodes\":[{}],\"cut\":{}}}", list, nodes.size() == kMaxNodes)};
}

// Everything about one node: its device, inputs and attributes as text.
Response answer_node(const Board& board, const Request& request) {
  constexpr size_t kMaxAttributeBytes = 2000;
  const std::string name = required_param(request, "name");
  const std::string graph = graph_of(board, request);
  for (const NodeView& node : read_nodes(graph)) {
    if (safe_text(node.name, kMaxNameBytes) != name) continue;
    tensorflow::NodeDef message;
    parse_message("node", node.message, message);
    json attributes = json::array();
    std::vector<std::string> names;
    for (const auto& [key, value] : message.attr()) names.push_back(key);
    std::ranges::sort(names);
    for (const std::string& key : names) {
      const auto& value = message.attr().at(key);
      const std::string text = value.ByteSizeLong() > 100 * kMaxAttributeBytes
                                   ? fmt::format("{} bytes", value.ByteSizeLong())
                                   : safe_text(print_message_text(value), kMaxAttributeBytes);
      attributes.push_back({safe_text(key, kMaxNameBytes), text});
    }
    json inputs = json::array();
    for (const std::string_view input : node.inputs) {
      inputs.push_back(safe_text(input, kMaxNameBytes));
    }
    return {.body = json_text({{"op", safe_text(node.op, kMaxNameBytes)},
                               {"device", safe_text(node.device, kMaxNameBytes)},
                               {"inputs", std::move(inputs)},
                               {"attributes", std::move(attributes)}})};
  }
  throw RequestError{404, fmt::format("There is no node '{}'.", safe_text(name, 200))};
}

}  // namespace

std::vector<Route> graph_routes() {
  return {{"/api/graph", "GET", answer_graph}, {"/api/graph_node", "GET", answer_node}};
}

}  // namespace systole::board
