#include "systole/estimator/print_hook.h"

#include <utility>

#include "systole/base/log.h"
#include "systole/session/print_text.h"

namespace systole::estimator {
namespace {

std::span<const Output> printed_by(const Node& node) { return node.inputs().subspan(1); }

}  // namespace

PrintHook::PrintHook(std::vector<const Node*> prints)
    : prints_(std::move(prints)), printed_(prints_.size()) {}

std::vector<Output> PrintHook::fetches() {
  std::vector<Output> values;
  for (const Node* node : prints_) {
    values.insert(values.end(), printed_by(*node).begin(), printed_by(*node).end());
  }
  return values;
}

void PrintHook::after_run(RunContext& context, std::span<const Tensor> values) {
  static_cast<void>(context);
  for (size_t i = 0; i < prints_.size(); ++i) {
    const Node& node = *prints_[i];
    const std::span<const Tensor> mine = values.first(printed_by(node).size());
    values = values.subspan(mine.size());
    const auto first_n = node.attr<int64_t>("first_n");
    if (first_n >= 0 && printed_[i]++ >= first_n) continue;
    log_message(LogLevel::info, print_text(node, mine));
  }
}

HookList with_prints(HookList hooks, const Graph& graph) {
  std::vector<const Node*> prints;
  for (const auto& node : graph.nodes()) {
    if (node->op_name() == "Print") prints.push_back(node.get());
  }
  if (!prints.empty()) hooks.insert(hooks.begin(), std::make_shared<PrintHook>(std::move(prints)));
  return hooks;
}

}  // namespace systole::estimator
