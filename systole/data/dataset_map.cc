// map and filter with functions written with ops.
#include <algorithm>
#include <unordered_set>

#include "systole/data/dataset.h"
#include "systole/data/graph_function.h"
#include "systole/data/nodes.h"

namespace systole {
namespace {

// Null if a node calls no function written with ops.
std::shared_ptr<const data::GraphFunction> called_by(const data::DatasetNode& node) {
  const data::MapArguments* const map = node.map_arguments();
  return map != nullptr ? map->graph : node.graph_function();
}

}  // namespace

// Gives each unseeded function of a pipeline different random numbers.
HostFunction Dataset::trace(const GraphFunction& fn) const {
  return HostFunction::trace(
      element_spec(), fn, {.entropy = static_cast<uint64_t>(node()->size()), .takes_values = true});
}

Dataset Dataset::map_graph(const GraphFunction& fn, const MapOptions& options) const {
  data::check_calls("map", options.num_parallel_calls);
  return map(trace(fn), options);
}

Dataset Dataset::map(HostFunction fn, const MapOptions& options) const {
  data::check_calls("map", options.num_parallel_calls);
  const std::vector<TensorType> wanted = fn.argument_spec().flatten();
  bool fits = fn.argument_spec().structure() == element_spec().structure();
  for (size_t i = 0; fits && i < wanted.size(); ++i) {
    const TensorType& type = node()->types()[i];
    fits = type.dtype == wanted[i].dtype && type.shape.compatible_with(wanted[i].shape);
  }
  if (!fits) {
    throw invalid_argument("map: function of {}, got elements {}, expected those",
                           fn.argument_spec().to_string(), element_spec().to_string());
  }
  ElementSpec spec = fn.result_spec();
  auto graph = std::make_shared<const data::GraphFunction>("map", std::move(fn));
  return Dataset(data::map_node("map", node(), std::move(spec),
                                {.graph = std::move(graph),
                                 .num_parallel_calls = options.num_parallel_calls,
                                 .deterministic = options.deterministic}));
}

Dataset Dataset::filter_graph(const GraphFunction& predicate) const {
  HostFunction function = trace(predicate);
  const TensorType wanted{DType::pred, {}};
  const std::vector<TensorType> got = function.result_spec().flatten();
  if (got.size() != 1 || got.front().dtype != DType::pred || got.front().shape.rank() != 0) {
    throw invalid_argument("filter: result of the predicate, got {}, expected {}",
                           function.result_spec().to_string(), wanted);
  }
  auto graph = std::make_shared<const data::GraphFunction>("filter", std::move(function));
  return Dataset(data::filter_node(
      node(),
      [graph](const Components& row, int64_t index, const data::CallContext& calling) {
        return graph->call(row, index, calling).front().item<bool>();
      },
      graph));
}

Dataset Dataset::bucket_graph(const GraphFunction& element_length,
                              const BucketOptions& options) const {
  HostFunction function = trace(element_length);
  const std::vector<TensorType> got = function.result_spec().flatten();
  const bool is_length = got.size() == 1 && got.front().shape == Shape() &&
                         (got.front().dtype == DType::s64 || got.front().dtype == DType::s32);
  if (!is_length) {
    throw invalid_argument(
        "bucket_by_sequence_length: result of element_length_func, got {}, expected s32[] or s64[]",
        function.result_spec().to_string());
  }
  auto graph =
      std::make_shared<const data::GraphFunction>("bucket_by_sequence_length", std::move(function));
  return bucket(
      [graph](const Components& row, int64_t index, const data::CallContext& calling) {
        return static_cast<int64_t>(graph->call(row, index, calling).front().as_double(0));
      },
      options, graph);
}

std::vector<StageFunction> Dataset::functions() const {
  std::vector<StageFunction> functions;
  const auto walk = [&](const auto& self, const data::DatasetNode& node) -> void {
    for (const NodePtr& input : node.inputs()) self(self, *input);
    if (const NodePtr body = node.body()) self(self, *body);
    if (const auto graph = called_by(node)) functions.push_back({node.name(), graph->function()});
  };
  walk(walk, *node());
  return functions;
}

std::vector<Output> Dataset::parameters() const {
  std::vector<Output> parameters;
  std::unordered_set<const data::DatasetNode*> seen;
  const auto add = [&](const Output& output) {
    if (std::ranges::find(parameters, output) == parameters.end()) parameters.push_back(output);
  };
  const auto walk = [&](const auto& self, const data::DatasetNode& node) -> void {
    if (!seen.insert(&node).second) return;
    for (const NodePtr& input : node.inputs()) self(self, *input);
    if (const NodePtr body = node.body()) self(self, *body);
    std::ranges::for_each(node.parameters(), add);
    if (const auto graph = called_by(node))
      std::ranges::for_each(graph->function().captures(), add);
  };
  walk(walk, *node());
  return parameters;
}

Dataset Dataset::batch(int64_t batch_size, bool drop_remainder) const {
  data::check_positive("batch: batch_size", batch_size);
  return Dataset(data::batches_of(node(), batch_size, drop_remainder));
}

}  // namespace systole
