// What a layer's call() may ask for while it adds ops to a graph.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "systole/graph/core/variable.h"
#include "systole/keras/engine/weight.h"

namespace systole::keras {

class LayerDefinition;

// What a call passes to a layer besides `training`, by the names of call()'s arguments in Keras.
struct CallArguments {
  // For each input tensor the name of the argument of call() that it is passed in; the tensors of a
  // list have one name. Empty: the tensors are the first argument or, where call() takes several
  // tensors, one argument each.
  std::vector<std::string> inputs;
  std::map<std::string, bool> flags;

  bool flag(const std::string& name) const {
    const auto it = flags.find(name);
    return it != flags.end() && it->second;
  }
  friend bool operator==(const CallArguments&, const CallArguments&) = default;
};

// Whether each layer of a model was trainable when the model was compiled.
using TrainableLayers = std::unordered_map<const LayerDefinition*, bool>;

// One program under construction: its learning phase, the variables that stand for weights, the
// masks of its tensors, and what the calls add to the loss and to the updates. Lives while the
// program is built.
class CallContext {
 public:
  struct Update {
    WeightPtr weight;
    Output value;
    bool state = false;  // set in every program, not only where it trains
  };

  struct Effect {
    Operation operation;
    std::vector<WeightPtr> changed;
  };

  // `variable_of` returns the variable that stands for a weight; without it (shape inference)
  // weights are placeholders.
  // The program's graph is the current one; layers may ask from functions within it (bodies of
  // loops). `replicas`: how many run the program, each with its part of a batch.
  CallContext(bool training, std::function<Variable(const WeightPtr&)> variable_of,
              int64_t replicas = 1)
      : graph_(Graph::current()),
        training_(training),
        replicas_(replicas),
        variable_of_(std::move(variable_of)) {}

  // Whether the program trains (the learning phase, or the `training` of the call).
  bool training() const { return training_override_.value_or(training_); }
  // Whether it only infers shapes.
  bool abstract() const { return variable_of_ == nullptr; }
  int64_t replicas() const { return replicas_; }
  // Whether a layer is trained: as when the model was compiled, else as it is now.
  bool trainable(const LayerDefinition& layer) const;
  // `layers` outlives the context.
  void set_trainable_layers(const TrainableLayers& layers) { trainable_layers_ = &layers; }

  // The value of a weight in this program.
  Output value(const WeightPtr& weight);
  // Sets a weight after each step of training (running statistics). On several replicas the mean of
  // the replicas' values. Replaces an earlier update of the same weight.
  void add_update(const WeightPtr& weight, const Output& value);
  // The value that the updates so far give a weight: value() where there are none. A layer that is
  // called several times in a program continues from it.
  Output latest(const WeightPtr& weight);
  // The variable that stands for a weight. REQUIRES: !abstract().
  Variable variable(const WeightPtr& weight) const { return variable_of_(weight); }
  // Lets a variable that was made elsewhere stand for a weight, which nothing stands for yet.
  void bind(const WeightPtr& weight, const Variable& variable) {
    bindings_.emplace_back(weight, variable);
  }
  // Adds an operation to each step, which changes the variables of these weights.
  void add_operation(const Operation& operation, std::vector<WeightPtr> changed) {
    operations_.push_back({operation, std::move(changed)});
  }
  // Sets a weight after each step of any program (states of stateful layers). Equal on all
  // replicas.
  void set_state(const WeightPtr& weight, const Output& value) {
    updates_.push_back({.weight = weight, .value = value, .state = true});
  }
  // Adds to the total loss: a scalar, this replica's part, or a value for each example, f32 [batch,
  // ...], whose mean over the examples of all replicas counts.
  void add_loss(const Output& loss) { losses_.push_back(loss); }

  // pred [batch, time]; invalid when the tensor has no mask.
  Output mask(const Output& tensor) const;
  void set_mask(const Output& tensor, const Output& mask) { masks_[tensor] = mask; }

  const std::vector<Update>& updates() const { return updates_; }
  const std::vector<Effect>& operations() const { return operations_; }
  const std::vector<std::pair<WeightPtr, Variable>>& bindings() const { return bindings_; }
  const std::vector<Output>& losses() const { return losses_; }

  // What the caller passed to the layer whose call() runs.
  const CallArguments& arguments() const { return arguments_; }

  // While it lives, training() is `training`, and the next layer to be called has `arguments`.
  class CallScope {
   public:
    CallScope(CallContext& context, std::optional<bool> training, CallArguments arguments)
        : context_(context), previous_(context.training_override_) {
      if (training) context.training_override_ = training;
      context.next_arguments_ = std::move(arguments);
    }
    ~CallScope() {
      context_.training_override_ = previous_;
      context_.next_arguments_ = {};
    }
    CallScope(const CallScope&) = delete;
    CallScope& operator=(const CallScope&) = delete;

   private:
    CallContext& context_;
    std::optional<bool> previous_;
  };

  // While it lives, arguments() is what the last CallScope passed. Layers that the layer itself
  // calls have none.
  class ArgumentsScope {
   public:
    explicit ArgumentsScope(CallContext& context)
        : context_(context),
          previous_(std::exchange(context.arguments_,
                                  std::exchange(context.next_arguments_, CallArguments()))) {}
    ~ArgumentsScope() { context_.arguments_ = std::move(previous_); }
    ArgumentsScope(const ArgumentsScope&) = delete;
    ArgumentsScope& operator=(const ArgumentsScope&) = delete;

   private:
    CallContext& context_;
    CallArguments previous_;
  };

 private:
  Graph& graph_;
  bool training_;
  int64_t replicas_;
  std::optional<bool> training_override_;
  CallArguments arguments_;
  CallArguments next_arguments_;
  const TrainableLayers* trainable_layers_ = nullptr;
  std::function<Variable(const WeightPtr&)> variable_of_;
  std::unordered_map<const Weight*, Output> values_;
  std::unordered_map<Output, Output> masks_;
  std::vector<Update> updates_;
  std::vector<Effect> operations_;
  std::vector<std::pair<WeightPtr, Variable>> bindings_;
  std::vector<Output> losses_;
};

}  // namespace systole::keras
