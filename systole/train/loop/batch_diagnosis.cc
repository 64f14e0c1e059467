#include "systole/train/loop/batch_diagnosis.h"

#include <algorithm>
#include <optional>

#include "systole/graph/lowering/plan.h"
#include "systole/train/loop/hooks.h"

namespace systole::train {
namespace {

std::string name_of_input(const TrainStep& step, size_t input) {
  return input < step.input_names.size() ? step.input_names[input] : step.inputs[input].name();
}

// The part of a stack, [replicas, K, batch, ...], of one step of a replica.
Tensor batch_of(const Tensor& stack, int64_t replica, int64_t step) {
  const std::span<const int64_t> dims(stack.shape().dims());
  const Tensor of_replica = stack.slice(replica, replica + 1).reshape(Shape(dims.subspan(1)));
  return of_replica.slice(step, step + 1).reshape(Shape(dims.subspan(2)));
}

// The input from which these labels come, by ops that move or cast elements; nullptr: another.
const Node* source_of_labels(const Output& labels) {
  const Node* node = labels.node();
  while (node->op_name() != "Placeholder") {
    const bool moves = node->op_name() == "Cast" || node->op_name() == "Reshape" ||
                       node->op_name() == "Squeeze" || node->op_name() == "Identity";
    if (!moves) return nullptr;
    node = node->input(0).node();
  }
  return node;
}

// For each input the number of classes that its elements must be below; 0 where they are no labels.
std::vector<int64_t> classes_of_inputs(const TrainStep& step) {
  std::vector<int64_t> classes(step.inputs.size(), 0);
  for (const Node* node : ancestors({step.loss.node()})) {
    if (node->op_name() != "SparseSoftmaxCrossEntropyWithLogits") continue;
    const Node* const source = source_of_labels(node->input(1));
    const Shape& logits = node->input(0).shape();
    for (size_t i = 0; i < step.inputs.size() && logits.rank() > 0; ++i) {
      if (step.inputs[i].node() == source) classes[i] = logits[logits.rank() - 1];
    }
  }
  return classes;
}

// The first element that is no class: "12 at [3]".
std::optional<std::string> first_wrong_label(const Tensor& labels, int64_t classes) {
  for (int64_t i = 0; i < labels.num_elements(); ++i) {
    const double label = labels.as_double(i);
    if (label >= 0 && label < static_cast<double>(classes)) continue;
    return fmt::format("{} at element {}", label, i);
  }
  return std::nullopt;
}

}  // namespace

std::string diagnose_batch(const TrainStep& step, const data::StackedSteps& batches,
                           int64_t first) {
  const std::vector<int64_t> classes = classes_of_inputs(step);
  for (int64_t s = 0; s < batches.steps; ++s) {
    for (int64_t r = 0; r < step.replicas; ++r) {
      for (size_t i = 0; i < step.inputs.size(); ++i) {
        const Tensor batch = batch_of(batches.stacks[i], r, s);
        const std::string where = fmt::format("in step {} on replica {}", first + s + 1, r);
        if (const auto found = first_non_finite(batch)) {
          return fmt::format("the input has {} of {} {}", *found, name_of_input(step, i), where);
        }
        if (classes[i] <= 0) continue;
        if (const auto label = first_wrong_label(batch, classes[i])) {
          return fmt::format("{} has the label {} {}, expected 0 to {}", name_of_input(step, i),
                             *label, where, classes[i] - 1);
        }
      }
    }
  }
  return "";
}

}  // namespace systole::train
