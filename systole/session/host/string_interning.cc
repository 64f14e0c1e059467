#include "systole/session/host/string_interning.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "systole/base/mutex.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/op_def.h"
#include "systole/session/host/compiled_part.h"

namespace systole {
namespace {

// Numbers of the distinct strings of a run, in the order of their appearance.
class Interned {
 public:
  Tensor numbers_of(const Tensor& strings) {
    Tensor result(DType::s32, strings.shape());
    std::ranges::transform(strings.data<std::string>(), result.data<int32_t>().begin(),
                           [&](const std::string& text) {
                             const auto next = static_cast<int32_t>(texts_.size());
                             const auto [it, added] = numbers_.emplace(text, next);
                             if (added) texts_.push_back(text);
                             return it->second;
                           });
    return result;
  }

  Tensor strings_of(const Tensor& numbers) const {
    Tensor result(DType::string, numbers.shape());
    std::ranges::transform(numbers.data<int32_t>(), result.data<std::string>().begin(),
                           [&](int32_t number) { return std::string(texts_[number]); });
    return result;
  }

 private:
  std::unordered_map<std::string_view, int32_t> numbers_;  // of strings that the inputs own
  std::vector<std::string_view> texts_;
};

// Sizes and positions must be known when a program is compiled, and inference may want them. What
// is gathered need not: it is often another number for each element of a data set.
bool is_parameter(const Node& node, size_t position, const Tensor& input) {
  constexpr size_t kGatherIndices = 1;
  if (node.op_name() == "GatherV2" && position == kGatherIndices) return false;
  return is_integer(input.dtype()) && input.rank() <= 1 && input.num_elements() <= 64;
}

std::string key_of(const Node& node, std::span<const Tensor> inputs) {
  std::string key = fmt::format("{}", static_cast<const void*>(&node));
  for (size_t i = 0; i < inputs.size(); ++i) {
    key += is_parameter(node, i, inputs[i]) ? inputs[i].to_string() : inputs[i].type().to_string();
  }
  return key;
}

}  // namespace

struct StringInterning::Move {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  std::vector<size_t> fed;  // positions of the inputs that are no parameters
  std::unique_ptr<CompiledPart> part;
};

StringInterning::StringInterning() = default;
StringInterning::~StringInterning() = default;

std::shared_ptr<StringInterning::Move> StringInterning::find_or_make(
    const Node& node, std::span<const Tensor> inputs) {
  const std::string key = key_of(node, inputs);
  const MutexLock lock(mutex_);
  constexpr size_t kMaxMoves = 256;
  if (moves_.size() >= kMaxMoves) moves_.clear();
  std::shared_ptr<Move>& move = moves_[key];
  if (move != nullptr) return move;
  auto made = std::make_shared<Move>();
  const GraphScope scope(*made->graph);
  std::vector<Output> arguments;
  std::vector<Output> placeholders;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool text = inputs[i].dtype() == DType::string;
    if (!text && is_parameter(node, i, inputs[i])) {
      arguments.push_back(constant(inputs[i]));
      continue;
    }
    arguments.push_back(placeholder(text ? DType::s32 : inputs[i].dtype(), inputs[i].shape()));
    placeholders.push_back(arguments.back());
    made->fed.push_back(i);
  }
  AttrMap attrs = node.attrs();
  for (auto& [name, value] : attrs) {
    const auto* dtype = std::get_if<DType>(&value);
    if (dtype != nullptr && *dtype == DType::string) value = DType::s32;
  }
  Node* const moved =
      made->graph->add_node(node.op_name(), arguments, std::move(attrs), node.where(), node.name());
  made->part = std::make_unique<CompiledPart>(*made->graph, placeholders, moved->outputs());
  move = std::move(made);
  return move;
}

std::vector<Tensor> StringInterning::run(const Node& node, std::span<const Tensor> inputs) {
  if (!node.op().traits.moves_elements) {
    throw unimplemented("{}: dtype, got string, expected a dtype that it computes with",
                        node.op_name());
  }
  if (node.op().traits.passes_on == PassesOn::value) return {inputs[0]};
  const std::shared_ptr<Move> move = find_or_make(node, inputs);
  Interned interned;
  std::vector<Tensor> values;
  values.reserve(move->fed.size());
  for (const size_t i : move->fed) {
    const bool text = inputs[i].dtype() == DType::string;
    values.push_back(text ? interned.numbers_of(inputs[i]) : inputs[i]);
  }
  std::vector<const Tensor*> fed;
  fed.reserve(values.size());
  for (const Tensor& value : values) fed.push_back(&value);
  std::vector<Tensor> results(static_cast<size_t>(node.num_outputs()));
  move->part->run(fed, results);
  for (size_t i = 0; i < results.size(); ++i) {
    if (node.output_types()[i].dtype == DType::string) results[i] = interned.strings_of(results[i]);
  }
  return results;
}

}  // namespace systole
