// Keras's table of a model's layers.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "systole/keras/models/model.h"

namespace systole::keras {
namespace {

std::string thousands(int64_t n) {
  std::string text = std::to_string(n);
  for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<size_t>(at), ",");
  }
  return text;
}

std::string shape_text(const Shape& shape) {
  std::string text = "(";
  for (int i = 0; i < shape.rank(); ++i) {
    text += (i > 0 ? ", " : "") + (shape[i] < 0 ? std::string("None") : std::to_string(shape[i]));
  }
  return text + ")";
}

// Cuts each field to its column, which ends at `ends[i]`, and separates it by a blank.
std::string row_text(const std::vector<std::string>& fields, const std::vector<size_t>& ends) {
  std::string line;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) line.back() = ' ';
    line.append(fields[i]).resize(std::min(line.size(), ends[i]));
    line.append(ends[i] - line.size(), ' ');
  }
  return line;
}

std::string output_shape(const NetworkDefinition* network, const Layer& layer) {
  if (network == nullptr) return "multiple";
  std::string common;
  for (const auto& call : network->calls()) {
    if (call->layer != layer.definition()) continue;
    std::string text;
    for (const TensorType& type : call->outputs) {
      if (!text.empty()) text += ", ";
      text += shape_text(type.shape);
    }
    if (call->outputs.size() > 1) text = fmt::format("[{}]", text);
    if (!common.empty() && text != common) return "multiple";
    common = std::move(text);
  }
  return common;
}

std::vector<std::string> connections(const NetworkDefinition& network, const Layer& layer) {
  std::vector<std::string> names;
  for (const auto& call : network.calls()) {
    if (call->layer != layer.definition()) continue;
    for (const KerasTensor& input : call->inputs) {
      names.push_back(fmt::format("{}[{}][{}]", input.call()->layer->name(),
                                  input.call()->node_index, input.index()));
    }
  }
  return names;
}

// A model whose layers form a chain needs no column of connections.
bool is_chain(const NetworkDefinition& network) {
  std::set<const LayerCall*> read;
  for (const auto& call : network.calls()) {
    if (call->inputs.size() > 1) return false;
    if (!call->inputs.empty() && !read.insert(call->inputs[0].call().get()).second) return false;
  }
  return network.inputs().size() == 1 && network.outputs().size() == 1;
}

int64_t count_of(const std::vector<WeightPtr>& weights) {
  std::set<const Weight*> seen;
  int64_t count = 0;
  for (const WeightPtr& weight : weights) {
    if (seen.insert(weight.get()).second) count += weight->shape().num_elements();
  }
  return count;
}

}  // namespace

void Model::summary(const std::function<void(const std::string&)>& print_fn) const {
  const auto print = [&](const std::string& line) {
    if (print_fn) {
      print_fn(line);
    } else {
      fmt::print("{}\n", line);
    }
  };
  const auto* network = dynamic_cast<const NetworkDefinition*>(definition().get());
  if (network != nullptr && network->outputs().size() == 0) network = nullptr;
  const bool chain = network == nullptr || model()->is_sequential() || is_chain(*network);
  const std::vector<size_t> ends =
      chain ? std::vector<size_t>{29, 55, 65} : std::vector<size_t>{32, 53, 65, 98};
  std::vector<std::string> header = {"Layer (type)", "Output Shape", "Param #"};
  if (!chain) header.emplace_back("Connected to");
  print(std::string(ends.back(), '_'));
  print(row_text(header, ends));
  print(std::string(ends.back(), '='));
  const std::vector<Layer> all = layers();
  for (size_t i = 0; i < all.size(); ++i) {
    const Layer& layer = all[i];
    std::vector<std::string> fields = {fmt::format("{} ({})", layer.name(), layer.class_name()),
                                       output_shape(network, layer),
                                       std::to_string(layer.count_params())};
    const std::vector<std::string> from =
        chain ? std::vector<std::string>{} : connections(*network, layer);
    if (!chain) fields.push_back(from.empty() ? "" : from[0]);
    print(row_text(fields, ends));
    for (size_t k = 1; k < from.size(); ++k) print(row_text({"", "", "", from[k]}, ends));
    print(std::string(ends.back(), i + 1 < all.size() ? '_' : '='));
  }
  const int64_t trainable = count_of(definition()->trainable_weights());
  const int64_t others = count_of(definition()->non_trainable_weights());
  print("Total params: " + thousands(trainable + others));
  print("Trainable params: " + thousands(trainable));
  print("Non-trainable params: " + thousands(others));
  if (network == nullptr && !definition()->built() && definition()->weights().empty()) {
    print("Not built yet: give the first layer an input_shape, or call the model on data");
  }
  print(std::string(ends.back(), '_'));
  if (!print_fn) std::fflush(stdout);
}

}  // namespace systole::keras
