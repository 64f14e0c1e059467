#include "systole/keras/engine/network.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>

#include "systole/base/error.h"
#include "systole/graph/api/math_ops.h"
#include "systole/keras/engine/mean_of_batch.h"

namespace systole::keras {
namespace {

// Appends the calls that lead from `inputs` to `tensors` and are not in `done`, each after those it
// reads. Depth-first from the tensors, iteratively: models may be thousands of layers deep.
void append_calls(const KerasTensors& inputs, const std::vector<KerasTensor>& tensors,
                  std::unordered_set<const LayerCall*>& done,
                  std::vector<std::shared_ptr<LayerCall>>& calls) {
  std::unordered_set<const LayerCall*> ends;
  for (const KerasTensor& input : inputs) ends.insert(input.call().get());
  struct Frame {
    std::shared_ptr<LayerCall> call;
    size_t next = 0;
  };
  for (const KerasTensor& tensor : tensors) {
    std::vector<Frame> stack;
    if (done.insert(tensor.call().get()).second) stack.push_back({tensor.call()});
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const bool ended = ends.contains(frame.call.get());
      if (!ended && frame.call->inputs.empty()) {
        throw invalid_argument(
            "Graph disconnected: cannot obtain value for tensor {} at layer \"{}\". Add it to the "
            "model's inputs",
            KerasTensor(frame.call, 0).name(), frame.call->layer->name());
      }
      if (ended || frame.next == frame.call->inputs.size()) {
        calls.push_back(frame.call);
        stack.pop_back();
        continue;
      }
      const std::shared_ptr<LayerCall> before = frame.call->inputs[frame.next++].call();
      if (done.insert(before.get()).second) stack.push_back({before});
    }
  }
}

// Returns `calls` and the calls that `losses` need besides.
std::vector<std::shared_ptr<LayerCall>> with_losses(const KerasTensors& inputs,
                                                    std::vector<std::shared_ptr<LayerCall>> calls,
                                                    const std::vector<KerasTensor>& losses) {
  std::unordered_set<const LayerCall*> done;
  for (const auto& call : calls) done.insert(call.get());
  append_calls(inputs, losses, done, calls);
  return calls;
}

// What add_loss() counts where `loss` is a scalar, `value`: that of each example whose mean it is.
Output elements_of_added(const KerasTensor& loss, const Output& value,
                         const std::vector<Output>& inputs) {
  const Output elements = elements_of_mean(value, inputs.at(0).shape()[0]);
  if (elements.valid()) return elements;
  throw invalid_argument(
      "add_loss: got a scalar of layer '{}', expected a value for each example, or their mean: "
      "any other would count the examples that pad a batch",
      loss.call()->layer->name());
}

}  // namespace

std::vector<std::shared_ptr<LayerDefinition>> ModelDefinition::sublayers() const {
  std::vector<std::shared_ptr<LayerDefinition>> all;
  for (const Layer& layer : layers()) all.push_back(layer.definition());
  return all;
}

NetworkDefinition::NetworkDefinition(KerasTensors inputs, KerasTensors outputs)
    : NetworkDefinition() {
  set_network(std::move(inputs), std::move(outputs));
}

void NetworkDefinition::set_network(KerasTensors inputs, KerasTensors outputs) {
  if (inputs.size() == 0 || outputs.size() == 0) {
    throw invalid_argument("Model: got {} inputs and {} outputs, expected at least one of each",
                           inputs.size(), outputs.size());
  }
  inputs_ = std::move(inputs);
  outputs_ = std::move(outputs);
  calls_.clear();
  layers_.clear();
  find_calls();
  order_layers();
  check_names();
}

void NetworkDefinition::find_calls() {
  std::unordered_set<const LayerCall*> done;
  append_calls(inputs_, outputs_.all(), done, calls_);
}

// Keras's order: by decreasing depth (the longest way to an output), ties by traversal.
void NetworkDefinition::order_layers() {
  std::unordered_map<const LayerCall*, int> depth_of_call;
  std::unordered_map<const LayerDefinition*, int> depth_of_layer;
  std::vector<std::shared_ptr<LayerDefinition>> traversed;
  for (auto it = calls_.rbegin(); it != calls_.rend(); ++it) {
    const LayerCall& call = **it;
    int& depth = depth_of_call[&call];
    int& layer_depth = depth_of_layer[call.layer.get()];
    depth = std::max(depth, layer_depth);
    layer_depth = depth;
    for (const KerasTensor& input : call.inputs) {
      int& before = depth_of_call[input.call().get()];
      before = std::max(before, depth + 1);
    }
  }
  std::unordered_set<const LayerDefinition*> seen;
  for (const KerasTensor& input : inputs_) {  // all inputs are at the top
    const LayerDefinition* const layer = input.call()->layer.get();
    depth_of_layer[layer] = std::max(depth_of_layer[layer], 0);
    if (seen.insert(layer).second) traversed.push_back(input.call()->layer);
  }
  for (const auto& call : calls_) {
    if (seen.insert(call->layer.get()).second) traversed.push_back(call->layer);
  }
  std::ranges::stable_sort(traversed, [&](const auto& a, const auto& b) {
    return depth_of_layer.at(a.get()) > depth_of_layer.at(b.get());
  });
  for (auto& layer : traversed) layers_.emplace_back(std::move(layer));
}

void NetworkDefinition::check_names() const {
  std::map<std::string, int> counts;
  for (const Layer& layer : layers_) ++counts[layer.name()];
  for (const auto& [name, count] : counts) {
    if (count == 1) continue;
    throw invalid_argument(
        "The name \"{}\" is used {} times in the model. All layer names should be unique.", name,
        count);
  }
}

std::vector<Layer> NetworkDefinition::layers() const { return layers_; }

std::vector<Output> NetworkDefinition::call(CallContext& context,
                                            const std::vector<Output>& inputs) {
  if (inputs.size() != inputs_.size()) {
    throw invalid_argument("Model {}: got {} inputs, expected {}", name(), inputs.size(),
                           inputs_.size());
  }
  std::unordered_map<const LayerCall*, std::vector<Output>> values;
  for (size_t i = 0; i < inputs.size(); ++i) values[inputs_[i].call().get()] = {inputs[i]};
  // Losses are of programs that run: their values do not depend on the types.
  const auto calls = context.abstract() ? calls_ : with_losses(inputs_, calls_, losses_);
  for (const auto& call : calls) {
    if (values.contains(call.get())) continue;
    std::vector<Output> arguments;
    for (const KerasTensor& input : call->inputs) {
      arguments.push_back(values.at(input.call().get()).at(static_cast<size_t>(input.index())));
    }
    const CallContext::CallScope scope(context, call->training, call->arguments);
    values[call.get()] = call->layer->apply(context, arguments);
  }
  const auto value_of = [&](const KerasTensor& tensor) {
    return values.at(tensor.call().get()).at(static_cast<size_t>(tensor.index()));
  };
  std::vector<Output> results;
  for (const KerasTensor& output : outputs_) results.push_back(value_of(output));
  if (context.abstract()) return results;
  for (const KerasTensor& loss : losses_) {
    const Output value = cast(value_of(loss), DType::f32);
    context.add_loss(value.shape().rank() > 0 ? value : elements_of_added(loss, value, inputs));
  }
  return results;
}

void NetworkDefinition::add_loss(const KerasTensor& loss) {
  static_cast<void>(with_losses(inputs_, calls_, {loss}));
  losses_.push_back(loss);
}

std::vector<TensorType> NetworkDefinition::input_types() const {
  std::vector<TensorType> types;
  for (const KerasTensor& input : inputs_) types.push_back(input.type());
  return types;
}

std::vector<std::string> NetworkDefinition::input_names() const {
  std::vector<std::string> names;
  for (const KerasTensor& input : inputs_) names.push_back(input.call()->layer->name());
  return names;
}

std::vector<std::string> NetworkDefinition::output_names() const {
  std::vector<std::string> names;
  for (const KerasTensor& output : outputs_) {
    std::string name = output.call()->layer->name();
    const auto taken = std::ranges::count(names, name);
    if (taken > 0) name += fmt::format("_{}", taken);
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace systole::keras
