// Optimizers: updates of variables from gradients. (tf.train.Optimizer)
#pragma once

#include <concepts>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "systole/graph/core/graph.h"
#include "systole/graph/core/op_def.h"
#include "systole/graph/core/variable.h"
#include "systole/graph/gradients/indexed_slices.h"
#include "systole/graph/optimizers/optimizer_def.h"
#include "systole/graph/optimizers/update_step.h"

namespace systole {

// A variable and its gradient, which is invalid if the loss does not depend on the variable.
struct GradientAndVariable {
  Output gradient;
  Variable variable;
};

struct ComputeGradientsOptions {
  std::vector<Variable> var_list = {};  // the trainable variables of the loss's graph when empty
  Output grad_loss = {};                // dL/d(loss); 1 when invalid
};

struct ApplyGradientsOptions {
  Variable global_step = {};  // incremented by each application, if valid
  std::string name = {};      // of the operation; empty: the optimizer's name
};

struct MinimizeOptions {
  Variable global_step = {};
  std::vector<Variable> var_list = {};
  Output grad_loss = {};
  std::string name = {};
};

// The collection of learning rates that are tensors, for summaries.
inline constexpr std::string_view kLearningRates = "learning_rates";

// Builds the update of variables from a loss. A variable that is read by gather() along its first
// axis alone is updated row by row: Momentum, RMSProp, Adagrad, Adadelta and Ftrl leave rows that a
// batch does not use, and their slots, as they are. Adam and others without a sparse op in
// TensorFlow let the moments of such rows decay and move the rows by them. (TensorFlow's updates of
// IndexedSlices) Slots are variables of the graph
// of the first gradients, with TensorFlow's names ("w/Momentum"). Copies share slots. Not
// thread-safe.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // compute_gradients(), then apply_gradients(). Also runs the operations of the collection
  // update_ops that belong to the loss (moving averages of batch_normalization), which TensorFlow
  // leaves to the caller. Errors: INVALID_ARGUMENT when no variable gets a gradient.
  Operation minimize(Output loss, const MinimizeOptions& options = {});
  // minimize(loss, get_global_step()). A template, so that {} stands for no options.
  template <std::same_as<Variable> V>
  Operation minimize(Output loss, const V& global_step) {
    return minimize(loss, MinimizeOptions{.global_step = global_step});
  }

  // Errors: INVALID_ARGUMENT when there are no variables, or `loss` is not floating.
  virtual std::vector<GradientAndVariable> compute_gradients(
      Output loss, const ComputeGradientsOptions& options = {});

  // Returns an operation that applies all updates, then increments `global_step`.
  // Errors: INVALID_ARGUMENT `No gradients provided for any variable` lists the variables.
  virtual Operation apply_gradients(const std::vector<GradientAndVariable>& grads_and_vars,
                                    const ApplyGradientsOptions& options = {});

  const std::string& name() const { return name_; }
  virtual std::vector<std::string> slot_names() const { return {}; }
  // Returns an invalid Variable if there is no such slot.
  virtual Variable slot(const Variable& variable, std::string_view slot_name) const;
  // Slots and other state, in the order of creation.
  virtual std::vector<Variable> variables() const { return made_; }
  // The learning rate of the updates that apply_gradients() builds from now on; null for an
  // optimizer of which it is not known.
  virtual Hyperparameter* learning_rate() { return nullptr; }

 protected:
  explicit Optimizer(std::string name) : name_(std::move(name)) {}
  // Creates state that all updates share. Called once in each apply_gradients(), before apply().
  virtual void prepare(const std::vector<Variable>& variables) { static_cast<void>(variables); }
  // Returns the update of one variable.
  virtual Operation apply(const Output& gradient, const Variable& variable) = 0;
  // Returns the update of one variable whose gradient is rows (graph/gradients/indexed_slices.h),
  // of which some may have the same index. `gradient` is the tensor of the rows; unless an
  // optimizer does otherwise it is applied.
  virtual Operation apply_sparse(const Output& gradient, const IndexedSlices& slices,
                                 const Variable& variable);
  // Returns operations to run after all updates (Adam's powers).
  virtual std::vector<Operation> finish() { return {}; }

  // Returns the slot; creates it at its first use, of the variable's shape or `shape`, filled with
  // initial_value.
  Variable get_or_create_slot(const Variable& variable, std::string_view slot_name,
                              std::string_view operation_name, double initial_value,
                              const std::optional<Shape>& shape = std::nullopt);
  // Returns a learning rate for apply(). Adds tensors to the collection kLearningRates.
  static Output resolve_learning_rate(const Input& learning_rate, DType dtype);
  // Creates a scalar variable that is no slot ("beta1_power").
  Variable make_scalar(std::string_view name, const Input& initial_value);

 private:
  std::string name_;
  std::map<std::pair<const Node*, std::string>, Variable> slots_;
  std::vector<Variable> made_;
};

// The classes of the rules in graph/optimizers, of which each declares its own:
//   using AdamOptimizer = OptimizerOf<rules::Adam>;
class RuleOptimizer : public Optimizer {
 public:
  std::vector<std::string> slot_names() const override;
  Hyperparameter* learning_rate() override { return &learning_rate_; }

 protected:
  // Errors: INVALID_ARGUMENT for a number out of its range.
  RuleOptimizer(const OptimizerDef& def, std::string name, Hyperparameter learning_rate,
                const std::vector<OptimizerArgument>& arguments);

  void prepare(const std::vector<Variable>& variables) override;
  Operation apply(const Output& gradient, const Variable& variable) override;
  Operation apply_sparse(const Output& gradient, const IndexedSlices& slices,
                         const Variable& variable) override;
  std::vector<Operation> finish() override;

 private:
  Operation update(const Output& gradient, const Output& indices, const Variable& variable);
  Operation add_rows(const IndexedSlices& slices, const Variable& variable);
  Operation add_op(const OpDef& op, const Output& gradient, const Output& indices,
                   const Variable& variable);
  // "lr", an argument, a power or "step"; nullopt for any other name.
  std::optional<Output> scalar(std::string_view name, DType dtype);
  UpdateStep::Values scalars(DType dtype);

  const OptimizerDef* def_;
  Hyperparameter learning_rate_;
  OptimizerArguments arguments_;
  std::map<std::string, Variable, std::less<>> state_;  // powers and the number of steps
};

template <class Rule>
class OptimizerOf : public RuleOptimizer {
 public:
  using Options = typename Rule::Options;

  explicit OptimizerOf(const Options& options = {}) requires(requires { options.learning_rate; })
      : RuleOptimizer(Rule::def, options.name, options.learning_rate,
                      train_arguments<Rule>(options)) {}
  // `learning_rate` replaces that of the options: AdamOptimizer(0.0002, {.beta1 = 0.5}).
  explicit OptimizerOf(Hyperparameter learning_rate,
                       const Options& options = {}) requires(!requires { Rule::kSecondArgument; })
      : RuleOptimizer(Rule::def, options.name, std::move(learning_rate),
                      train_arguments<Rule>(options)) {}
  // MomentumOptimizer(0.1, 0.9, {.use_nesterov = true}).
  OptimizerOf(Hyperparameter learning_rate, Hyperparameter second,
              Options options = {}) requires(requires { Rule::kSecondArgument; })
      : RuleOptimizer(Rule::def, options.name, std::move(learning_rate), [&] {
          options.*Rule::kSecondArgument = std::move(second);
          return train_arguments<Rule>(options);
        }()) {}
};

// A class as configuration files see it.
struct OptimizerClass {
  std::string name;  // "AdamOptimizer"
  std::string doc;
  std::optional<double> learning_rate;  // by default
  std::vector<OptimizerArgument> arguments;
  // `arguments` with other values.
  std::shared_ptr<Optimizer> (*make)(Hyperparameter learning_rate,
                                     const std::vector<OptimizerArgument>& arguments);
};
// All of them, made by the build from graph/optimizers.
std::span<const OptimizerClass> optimizer_classes();

// An optimizer of a class that is known by its arguments.
template <class Rule>
class NamedOptimizer : public RuleOptimizer {
 public:
  NamedOptimizer(Hyperparameter learning_rate, const std::vector<OptimizerArgument>& arguments)
      : RuleOptimizer(Rule::def, std::string(Rule::def.name), std::move(learning_rate), arguments) {
  }
};

template <class Rule>
void add_optimizer_class(std::vector<OptimizerClass>& all) {
  using Options = typename Rule::Options;
  if constexpr (!std::is_same_v<Options, NoOptions>) {
    OptimizerClass made{std::string(Rule::def.name) + "Optimizer",
                        std::string(Rule::def.doc),
                        {},
                        train_arguments<Rule>(Options{}),
                        nullptr};
    if constexpr (requires(Options options) { options.learning_rate; }) {
      made.learning_rate = Options{}.learning_rate.literal();
    }
    made.make = [](Hyperparameter learning_rate,
                   const std::vector<OptimizerArgument>& arguments) -> std::shared_ptr<Optimizer> {
      return std::make_shared<NamedOptimizer<Rule>>(std::move(learning_rate), arguments);
    };
    all.push_back(std::move(made));
  }
}

}  // namespace systole

#include "systole/graph/optimizers/all.h"  // IWYU pragma: export
