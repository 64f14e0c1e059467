#include "systole/session/host/vectorize.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/op_def.h"

namespace systole {
namespace {

// Whether rows of `value`, whose size is not known, can stand in one batch wherever the results of
// the function can: the size is that of a result, or is checked on the way to one. Of elements of
// several lengths their sums, say, make a batch, but they themselves do not.
bool has_size_of_result(const Output& value, std::span<Node* const> nodes,
                        std::span<const Output> results) {
  if (std::ranges::find(results, value) != results.end()) return true;
  return std::ranges::any_of(nodes, [&](Node* node) {
    const auto is_scalar = [](const Output& input) { return input.shape().rank() == 0; };
    const auto inputs = node->inputs();
    if (std::ranges::find(inputs, value) == inputs.end()) return false;
    const OpDef& op = node->op();
    if (op.traits.passes_on != PassesOn::nothing && node->output().shape().is_static()) return true;
    const bool same_size = op.batch.rule == batch_elementwise;
    if (!same_size || std::ranges::count_if(inputs, std::not_fn(is_scalar)) != 1) return false;
    return has_size_of_result(node->output(), nodes, results);
  });
}

class Vectorizer {
 public:
  Vectorizer(std::span<const Output> args, std::span<const Output> results, size_t shared)
      : args_(args), batched_args_(args.size() - shared), results_(results) {}

  std::optional<VectorizedGraph> run() {
    VectorizedGraph result{.graph = std::make_shared<Graph>()};
    const GraphScope scope(*result.graph);
    for (const Output& arg : args_) {
      const bool batched = result.args.size() < batched_args_;
      Dims dims;
      if (batched) dims.push_back(kUnknown);
      dims.insert(dims.end(), arg.shape().begin(), arg.shape().end());
      result.args.push_back(placeholder(arg.dtype(), Shape(std::move(dims)), arg.node()->name()));
      mapped_[arg] = {result.args.back(), batched};
    }
    const std::vector<Node*> nodes = needed();
    if (!sizes_fit(nodes)) return std::nullopt;
    find_bytes(nodes);
    for (Node* node : nodes) {
      if (!add(*node)) return std::nullopt;
    }
    for (const Output& output : results_) {
      const BatchedInput& mapped = mapped_.at(output);
      if (!mapped.batched) return std::nullopt;
      result.results.push_back(mapped.value);
    }
    return result;
  }

 private:
  // No batch is asked for that the function on one element after another does not need.
  bool sizes_fit(std::span<Node* const> nodes) const {
    const auto fits = [&](const Output& value) {
      return value.shape().is_static() || has_size_of_result(value, nodes, results_);
    };
    // The results of some ops, too, have another size in every row.
    return std::ranges::all_of(args_.first(batched_args_), fits) &&
           std::ranges::all_of(nodes, [&](Node* node) {
             return !node->op().batch.ragged || std::ranges::all_of(node->outputs(), fits);
           });
  }

  // A string of a parser that one node alone reads, as numbers: the parser gives these.
  void find_bytes(const std::vector<Node*>& nodes) {
    std::unordered_map<Output, int> uses;
    for (const Output& result : results_) ++uses[result];
    for (const Node* node : nodes) {
      for (const Output& input : node->inputs()) ++uses[input];
    }
    for (Node* node : nodes) {
      if (node->op().reads_bytes_as == nullptr) continue;
      const Output text = node->input(0);
      const std::optional<DType> dtype = node->op().reads_bytes_as(*node);
      if (!dtype || !text.node()->op().batch.gives_bytes || uses[text] != 1) continue;
      if (text.shape().rank() == 0) bytes_as_[text] = *dtype;
    }
  }

  std::vector<DType> bytes_of(Node& parser) const {
    std::vector<DType> dtypes;
    for (const Output& output : parser.outputs()) {
      const auto found = bytes_as_.find(output);
      dtypes.push_back(found == bytes_as_.end() ? DType::invalid : found->second);
    }
    return dtypes;
  }

  std::vector<Node*> needed() const {
    std::unordered_set<Node*> seen;
    std::vector<Node*> order;
    const auto need = [&](const Output& output) {
      if (!mapped_.contains(output) && seen.insert(output.node()).second) {
        order.push_back(output.node());
      }
    };
    for (const Output& result : results_) need(result);
    for (size_t next = 0; next < order.size();) {
      for (const Output& input : order[next++]->inputs()) need(input);
    }
    std::ranges::sort(order, {}, &Node::id);
    return order;
  }

  bool add(Node& node) {
    if (node.op().reads_bytes_as != nullptr && bytes_as_.contains(node.input(0)) &&
        mapped_.at(node.input(0)).batched) {
      mapped_[node.output()] = mapped_.at(node.input(0));
      return true;
    }
    BatchContext context{node, {}, node.attrs()};
    if (node.op().batch.gives_bytes) context.bytes_as = bytes_of(node);
    for (const Output& input : node.inputs()) context.inputs.push_back(mapped_.at(input));
    const bool batched = std::ranges::any_of(context.inputs, &BatchedInput::batched);
    // What a node draws, changes or waits for is not known to be a matter of its row.
    const bool pure = !node.op().traits.stateful && node.control_inputs().empty();
    if (!pure || node.op_name() == "Placeholder") return false;
    BatchResults results;
    if (batched) {
      if (node.op().batch.rule == nullptr) return false;
      results = node.op().batch.rule(context);
    } else {
      results = context.rebuild(context.values(), node.attrs());
    }
    if (!results) return false;
    for (int i = 0; i < node.num_outputs(); ++i) {
      mapped_[node.output(i)] = {(*results)[i], batched};
    }
    return true;
  }

  std::span<const Output> args_;
  size_t batched_args_;
  std::span<const Output> results_;
  std::unordered_map<Output, BatchedInput> mapped_;
  std::unordered_map<Output, DType> bytes_as_;  // strings of a parser -> dtype of their numbers
};

}  // namespace

std::optional<VectorizedGraph> vectorize(std::span<const Output> args,
                                         std::span<const Output> results, size_t shared) {
  try {
    return Vectorizer(args, results, shared).run();
  } catch (const Error&) {
    return std::nullopt;  // an op does not take the batch: rows are computed one by one
  }
}

}  // namespace systole
