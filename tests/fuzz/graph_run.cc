// A graph in protobuf's text format, and changes of it that follow from its bytes: what is imported
// must run, or be refused. Graphs with loops, and with large tensors, are left out.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "systole/base/log.h"
#include "systole/io/proto/graph.pb.h"
#include "systole/io/wire/message.h"
#include "systole/session/graph_def/graph_def.h"
#include "systole/session/session.h"
#include "tests/fuzz/input.h"

namespace {

using namespace systole;

constexpr size_t kMaxBytes = 16'384;     // of an input
constexpr int kMaxNodes = 100;           // of a message
constexpr size_t kMaxAdded = 1000;       // nodes of a graph
constexpr int64_t kMaxElements = 65536;  // of all tensors together
constexpr int kChanges = 4;              // graphs made of an input

// Ops that take what graphs hold in other ways: handles, shapes, axes, lists.
constexpr const char* kOps[] = {"Add",
                                "AssignVariableOp",
                                "ConcatV2",
                                "Conv2D",
                                "ExpandDims",
                                "Fill",
                                "FusedBatchNorm",
                                "GatherV2",
                                "Identity",
                                "IdentityN",
                                "MatMul",
                                "MaxPool",
                                "Mean",
                                "NoOp",
                                "OneHot",
                                "Pack",
                                "Pad",
                                "RandomUniformInt",
                                "Range",
                                "Rank",
                                "ReadVariableOp",
                                "Reshape",
                                "ResourceGather",
                                "Select",
                                "Shape",
                                "Size",
                                "Slice",
                                "Split",
                                "Squeeze",
                                "StridedSlice",
                                "Sum",
                                "Tile",
                                "TopKV2",
                                "Transpose",
                                "Unpack",
                                "VarHandleOp"};

using Random = std::minstd_rand;

size_t below(Random& random, int limit) { return random() % static_cast<size_t>(limit); }

// Another op, another input, one more or fewer, or without an attribute.
void change(tensorflow::GraphDef& message, Random& random) {
  if (message.node_size() == 0) return;
  auto& node = *message.mutable_node(static_cast<int>(below(random, message.node_size())));
  const auto& other = message.node(static_cast<int>(below(random, message.node_size())));
  const std::string input = fmt::format("{}:{}", other.name(), below(random, 2));
  switch (below(random, 5)) {
    case 0:
      node.set_op(kOps[below(random, std::size(kOps))]);
      break;
    case 1:
      node.add_input(input);
      break;
    case 2:
      if (node.input_size() > 0) node.mutable_input()->RemoveLast();
      break;
    case 3:
      if (node.input_size() > 0) {
        node.set_input(static_cast<int>(below(random, node.input_size())), input);
      }
      break;
    default:
      if (!node.attr().empty()) node.mutable_attr()->erase(node.attr().begin()->first);
  }
}

bool has_loops(const tensorflow::GraphDef& message) {
  const auto loops = [](const auto& nodes) {
    return std::ranges::any_of(
        nodes, [](const auto& node) { return node.op().find("While") != std::string::npos; });
  };
  return loops(message.node()) ||
         std::ranges::any_of(message.library().function(),
                             [&](const auto& function) { return loops(function.node_def()); });
}

// With a guess for unknown sizes, which are fed as 2.
bool is_small(const Graph& graph) {
  int64_t elements = 0;
  for (const auto& node : graph.nodes()) {
    for (const TensorType& type : node->output_types()) {
      int64_t size = 1;
      for (const int64_t dim : type.shape) {
        size *= dim == kUnknown ? 2 : std::min(dim, kMaxElements);
        if (size > kMaxElements) return false;
      }
      elements += size;
    }
  }
  return graph.nodes().size() <= kMaxAdded && elements <= kMaxElements;
}

void run(Graph& graph) {
  Session session("", {.graph = &graph, .backend = "reference", .entropy = 1, .num_threads = 1});
  std::vector<FeedItem> feeds;
  std::vector<Operation> assignments;
  for (const auto& node : graph.nodes()) {
    if (node->op_name() == "AssignVariableOp") assignments.emplace_back(node.get());
    if (node->op_name() != "Placeholder") continue;
    Dims dims = node->output_types()[0].shape.dims();
    std::ranges::replace(dims, kUnknown, 2);
    feeds.push_back({node->output(), Tensor::zeros(node->output_types()[0].dtype, Shape(dims))});
  }
  const auto run_one = [&](const Fetch& fetch) {
    fuzz::may_refuse([&] { session.run({fetch}, feeds); });
  };
  for (const Operation& assignment : assignments) run_one(assignment);
  for (const auto& node : graph.nodes()) {
    if (node->num_outputs() == 0) continue;
    run_one(node->output(node->num_outputs() - 1));
  }
}

void import_and_run(const tensorflow::GraphDef& message) {
  if (message.node_size() > kMaxNodes || has_loops(message)) return;
  Graph graph;
  const GraphScope scope(graph);
  import_graph_def(message, {});
  if (is_small(graph)) run(graph);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > kMaxBytes) return 0;
  set_log_level(LogLevel::off);
  fuzz::may_refuse([&] {
    tensorflow::GraphDef message;
    parse_message_text("f.pbtxt", fuzz::text_of(data, size), message);
    fuzz::may_refuse([&] { import_and_run(message); });
    Random random(static_cast<uint32_t>(std::hash<std::string_view>()(fuzz::text_of(data, size))));
    for (int i = 0; i < kChanges; ++i) {
      change(message, random);
      fuzz::may_refuse([&] { import_and_run(message); });
    }
  });
  return 0;
}
