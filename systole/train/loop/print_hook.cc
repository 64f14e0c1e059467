#include "systole/train/loop/print_hook.h"

#include <unordered_set>
#include <utility>

#include "systole/base/log.h"
#include "systole/graph/lowering/plan.h"
#include "systole/session/host/print_text.h"

namespace systole::train {

PrintHook::PrintHook(std::vector<const Node*> prints)
    : prints_(std::move(prints)), printed_(prints_.size()) {}

std::vector<Output> PrintHook::fetches() {
  std::vector<Output> values;
  for (const Node* node : prints_) {
    const std::span<const Output> data = printed_data(*node);
    values.insert(values.end(), data.begin(), data.end());
  }
  return values;
}

void PrintHook::after_run(RunContext& context, std::span<const Tensor> values) {
  static_cast<void>(context);
  for (size_t i = 0; i < prints_.size(); ++i) {
    const Node& node = *prints_[i];
    const std::span<const Tensor> mine = values.first(printed_data(node).size());
    values = values.subspan(mine.size());
    const auto first_n = node.attr<int64_t>("first_n");
    if (first_n >= 0 && printed_[i]++ >= first_n) continue;
    log_message(LogLevel::info, print_text(node, mine));
  }
}

std::shared_ptr<PrintHook> print_hook_for(const Graph& graph, std::vector<const Node*> roots) {
  const std::unordered_set<const Node*> needed = ancestors(std::move(roots));
  std::vector<const Node*> prints;
  for (const auto& node : graph.nodes()) {
    if (node->op_name() == "Print" && needed.contains(node.get())) prints.push_back(node.get());
  }
  return prints.empty() ? nullptr : std::make_shared<PrintHook>(std::move(prints));
}

}  // namespace systole::train
