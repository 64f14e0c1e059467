#include "systole/session/graph_def/placeholder_shape.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "systole/io/proto/graph.pb.h"
#include "systole/io/wire/tensor_message.h"

namespace systole {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<tensorflow::NodeDef>;

// The last producer that wrote [] for an unknown shape.
constexpr int kLastWithoutUnknownShapes = 21;

struct RankRule {
  std::string_view op;
  int rank;
  bool every_input = false;  // else of input 0
};
constexpr RankRule kRanks[] = {
    {"AvgPool", 4},
    {"AvgPool3D", 5},
    {"BatchNormWithGlobalNormalization", 4},
    {"Conv2D", 4},
    {"Conv3D", 5},
    {"CropAndResize", 4},
    {"DecodeImage", 0},
    {"DecodeJpeg", 0},
    {"DecodePng", 0},
    {"DepthToSpace", 4},
    {"DepthwiseConv2dNative", 4},
    {"FusedBatchNorm", 4},
    {"FusedBatchNormV2", 4},
    {"FusedBatchNormV3", 4},
    {"LRN", 4},
    {"MatMul", 2, true},
    {"MaxPool", 4},
    {"MaxPool3D", 5},
    {"MaxPoolV2", 4},
    {"ParseExample", 1},
    {"ParseSingleExample", 0},
    {"ResizeArea", 4},
    {"ResizeBicubic", 4},
    {"ResizeBilinear", 4},
    {"ResizeNearestNeighbor", 4},
    {"SoftmaxCrossEntropyWithLogits", 2, true},
    {"SpaceToDepth", 4},
};
// Ops whose result has as many dimensions as their first input.
constexpr std::string_view kKeepRank[] = {
    "Abs",      "BiasAdd", "Cast",      "CheckNumerics", "Elu",     "Exp",   "Identity",
    "Log",      "Log1p",   "MirrorPad", "Neg",           "Pad",     "PadV2", "Relu",
    "Relu6",    "Reverse", "ReverseV2", "Rsqrt",         "Sigmoid", "Slice", "Softmax",
    "Softplus", "Sqrt",    "Square",    "StopGradient",  "Tanh",    "Tile",
};
// The result has the dimensions of the operand that has more.
constexpr std::string_view kBinary[] = {"Add",     "AddV2", "Div",     "Maximum",
                                        "Minimum", "Mul",   "RealDiv", "Sub"};

template <class List>
bool contains(const List& list, std::string_view op) {
  return std::ranges::find(list, op) != std::end(list);
}

class RankSearch {
 public:
  explicit RankSearch(const Nodes& nodes) {
    for (const auto& node : nodes) {
      by_name_.emplace(node.name(), &node);
      for (int i = 0; i < node.input_size(); ++i) {
        users_[name_of(node.input(i))].push_back({&node, i});
      }
    }
  }

  // Without recursion, since graphs are deep. Ranks of what is reached and of `name` are one.
  std::optional<int> rank_of(std::string_view name) const {
    std::vector<std::string_view> open = {name};
    std::unordered_set<std::string_view> seen = {name};
    int above = -1;  // dimensions of a constant that is added on the way
    while (!open.empty()) {
      const auto it = users_.find(open.back());
      open.pop_back();
      if (it == users_.end()) continue;
      for (const auto& [node, input] : it->second) {
        for (const RankRule& rule : kRanks) {
          const bool told = rule.op == node->op() && (input == 0 || rule.every_input);
          if (told && rule.rank > above) return rule.rank;
        }
        const bool keeps = input == 0 && contains(kKeepRank, node->op());
        const int constant = contains(kBinary, node->op()) ? rank_of_other(*node, input) : -1;
        if ((keeps || constant >= 0) && seen.insert(node->name()).second) {
          above = std::max(above, constant);
          open.push_back(node->name());
        }
      }
    }
    return std::nullopt;
  }

 private:
  struct Use {
    const tensorflow::NodeDef* node;
    int input;
  };

  // "x" of "x:0"; nothing of the other outputs of a node, and of a control input.
  static std::string_view name_of(std::string_view input) {
    if (input.ends_with(":0")) input.remove_suffix(2);
    return input.starts_with('^') || input.find(':') != std::string_view::npos ? std::string_view()
                                                                               : input;
  }

  // The dimensions of the other operand where it is a constant; else -1.
  int rank_of_other(const tensorflow::NodeDef& node, int input) const {
    if (node.input_size() < 2 || input > 1) return -1;
    const auto it = by_name_.find(name_of(node.input(1 - input)));
    if (it == by_name_.end() || it->second->op() != "Const") return -1;
    const auto value = it->second->attr().find("value");
    if (value == it->second->attr().end()) return -1;
    return value->second.tensor().tensor_shape().dim_size();
  }

  std::unordered_map<std::string_view, const tensorflow::NodeDef*> by_name_;
  std::unordered_map<std::string_view, std::vector<Use>> users_;
};

}  // namespace

std::optional<Shape> declared_shape(std::string_view what, const tensorflow::NodeDef& placeholder,
                                    int producer) {
  const auto it = placeholder.attr().find("shape");
  if (it == placeholder.attr().end()) return std::nullopt;
  const auto shape = shape_from_message(what, it->second.shape());
  // A message without a version was written by hand.
  const bool old = producer > 0 && producer <= kLastWithoutUnknownShapes;
  if (shape && shape->rank() == 0 && old) return std::nullopt;
  return shape;
}

std::optional<int> rank_from_users(const tensorflow::NodeDef& placeholder, const Nodes& nodes) {
  return RankSearch(nodes).rank_of(placeholder.name());
}

}  // namespace systole
