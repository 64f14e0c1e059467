#include "systole/session/host_executor.h"

#include <algorithm>
#include <unordered_set>

namespace systole {

const Tensor* FeedValues::find(Output key) const {
  const auto it = std::ranges::find(keys, key);
  return it == keys.end() ? nullptr : values[static_cast<size_t>(it - keys.begin())];
}

std::unique_ptr<HostPlan> plan_host_ops(std::span<const FetchKey> fetches,
                                        std::span<const Output> fed) {
  const std::unordered_set<Output> stop(fed.begin(), fed.end());
  std::unordered_set<Node*> needed;
  std::vector<Node*> stack;
  auto need = [&](Node* node) {
    if (needed.insert(node).second) stack.push_back(node);
  };
  for (const FetchKey& fetch : fetches) {
    if (fetch.is_operation() || !stop.contains({fetch.node, fetch.index})) need(fetch.node);
  }
  while (!stack.empty()) {
    Node* const node = stack.back();
    stack.pop_back();
    for (const Output& input : node->inputs()) {
      if (!stop.contains(input)) need(input.node());
    }
    for (Node* control : node->control_inputs()) need(control);
  }

  auto plan = std::make_unique<HostPlan>();
  std::unordered_set<Output> exported;
  for (Node* node : needed) {
    if (node->op().host != nullptr) plan->nodes.push_back(node);
  }
  if (plan->nodes.empty()) return nullptr;
  std::ranges::sort(plan->nodes, {}, &Node::id);
  for (const Node* node : needed) {
    if (node->op().host != nullptr) continue;
    for (const Output& input : node->inputs()) {
      const bool from_host = input.node()->op().host != nullptr && !stop.contains(input);
      if (from_host && exported.insert(input).second) plan->device_feeds.push_back(input);
    }
  }
  std::ranges::sort(plan->device_feeds, {},
                    [](const Output& output) { return output.node()->id(); });
  return plan;
}

HostValues::HostValues(const HostPlan& plan, const FeedValues& feeds,
                       const HostEnvironment& environment) {
  for (Node* node : plan.nodes) {
    std::vector<Tensor> inputs;
    for (const Output& input : node->inputs()) inputs.push_back(input_value(*node, input, feeds));
    HostContext context{*node, inputs, environment};
    std::vector<Tensor> results;
    try {
      results = node->op().host(context);
    } catch (const Error& error) {
      throw error.with_context(node->describe());
    }
    for (int i = 0; i < node->num_outputs(); ++i) {
      values_.emplace_back(node->output(i), std::move(results.at(static_cast<size_t>(i))));
    }
  }
}

const Tensor* HostValues::find(Output output) const {
  const auto it = std::ranges::find(values_, output, &std::pair<Output, Tensor>::first);
  return it == values_.end() ? nullptr : &it->second;
}

Tensor HostValues::input_value(const Node& node, Output input, const FeedValues& feeds) const {
  if (const Tensor* fed = feeds.find(input)) return *fed;
  if (const Tensor* computed = find(input)) return *computed;
  const Node& producer = *input.node();
  if (const auto it = producer.attrs().find("value");
      producer.op_name() == "Const" && it != producer.attrs().end()) {
    return std::get<Tensor>(it->second);
  }
  throw unimplemented(
      "{}: runs on the host before the device program, but input '{}' is computed by it",
      node.describe(), input.name());
}

}  // namespace systole
