// Random state of a session as bytes:
//   "systole random 1\n" entropy "\n" (number " " count " " name "\n")*
// `number` is the index of the node in the graph, with functions inlined. It is the same in every
// process that builds the same graph.
#include <charconv>
#include <vector>

#include "systole/base/mutex.h"
#include "systole/session/session_impl.h"

namespace systole {
namespace {

constexpr std::string_view kMark = "systole random 1";

void add_nodes(const Graph& graph, std::vector<const Node*>& nodes) {
  for (const auto& node : graph.nodes()) {
    nodes.push_back(node.get());
    for (const auto& [name, value] : node->attrs()) {
      if (const auto* function = std::get_if<FunctionRef>(&value)) add_nodes(**function, nodes);
    }
  }
}

// Removes and returns the text before `end`.
std::string_view take(std::string_view& text, char end) {
  const size_t at = text.find(end);
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return part;
}

uint64_t take_number(std::string_view& text, char end) {
  const std::string_view digits = take(text, end);
  uint64_t number = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size()) {
    throw make_error(Code::data_loss, "Session: random state, got '{}', expected a number", digits);
  }
  return number;
}

}  // namespace

std::string Session::random_state() {
  std::vector<const Node*> nodes;
  add_nodes(impl_->graph, nodes);
  const WriterLock lock(impl_->run_mutex);
  std::string text = fmt::format("{}\n{}\n", kMark, impl_->state.entropy());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const uint64_t count = impl_->state.times_run(nodes[i]);
    if (count > 0) text += fmt::format("{} {} {}\n", i, count, nodes[i]->name());
  }
  return text;
}

void Session::set_random_state(std::string_view bytes) {
  if (take(bytes, '\n') != kMark) {
    throw make_error(Code::data_loss, "Session: random state, got other bytes, expected '{}'",
                     kMark);
  }
  std::vector<const Node*> nodes;
  add_nodes(impl_->graph, nodes);
  const uint64_t entropy = take_number(bytes, '\n');
  std::vector<std::pair<const Node*, uint64_t>> counts;
  while (!bytes.empty()) {
    const uint64_t number = take_number(bytes, ' ');
    const uint64_t count = take_number(bytes, ' ');
    const std::string_view name = take(bytes, '\n');
    if (number >= nodes.size() || nodes[number]->name() != name) {
      throw failed_precondition(
          "Session: random state, got one of a graph whose node {} is '{}', expected '{}'", number,
          name, number < nodes.size() ? nodes[number]->name() : "none");
    }
    counts.emplace_back(nodes[number], count);
  }
  const WriterLock lock(impl_->run_mutex);
  impl_->state.set_entropy(entropy);
  for (const Node* node : nodes) {
    if (impl_->state.times_run(node) > 0) impl_->state.run_count(node) = 0;
  }
  for (const auto& [node, count] : counts) impl_->state.run_count(node) = count;
}

}  // namespace systole
