#include "systole/session/host/print_text.h"

#include <utility>

#include "systole/graph/ops/debugging/print_values.h"

namespace systole {

std::span<const Output> printed_data(const Node& node) { return node.inputs().subspan(1); }

std::string print_text(const Node& node, std::span<const Tensor> printed) {
  std::string text = node.attr<std::string>("message");
  const auto summarize = node.attr<int64_t>("summarize");
  const auto& positions = node.attr<std::vector<int64_t>>("_text_positions");
  const auto& texts = node.attr<std::vector<std::string>>("_texts");
  size_t next_text = 0;
  for (size_t i = 0; i < printed.size() + texts.size(); ++i) {
    const bool known = next_text < texts.size() && std::cmp_equal(positions[next_text], i);
    text += '[';
    text += known ? texts[next_text++] : print_values(printed[i - next_text], summarize);
    text += ']';
  }
  return text;
}

}  // namespace systole
