// Optimizers: updates of variables from gradients. (tf.train.Optimizer)
#pragma once

#include <concepts>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "systole/graph/api/graph.h"
#include "systole/graph/api/variable.h"
#include "systole/graph/gradients/indexed_slices.h"

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

// A hyperparameter: a number, or a tensor such as the result of a learning rate schedule. Every
// optimizer's constructor throws INVALID_ARGUMENT for a learning rate below 0, NaN or infinity.
using Hyperparameter = Input;

// Builds the update of variables from a loss. A variable that is read by gather() along its first
// axis alone is updated row by row: Momentum, RMSProp, Adagrad, Adadelta and Ftrl leave rows that a
// batch does not use, and their slots, as they are. Adam lets the moments of such rows decay and
// moves the rows by them. (TensorFlow's updates of IndexedSlices) Slots are variables of the graph
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
  // Checks a learning rate and returns it. Errors: INVALID_ARGUMENT with the user's line for a
  // number below 0, NaN or infinity.
  static Input checked_learning_rate(std::string_view optimizer, Input learning_rate);

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

  // Returns the slot; creates it at its first use, filled with initial_value.
  Variable get_or_create_slot(const Variable& variable, std::string_view slot_name,
                              std::string_view operation_name, double initial_value);
  // Returns a learning rate for apply(). Adds tensors to the collection kLearningRates.
  static Output resolve_learning_rate(const Input& learning_rate, DType dtype);
  // Creates a scalar variable that is no slot ("beta1_power").
  Variable make_scalar(std::string_view name, const Input& initial_value);

 private:
  std::string name_;
  std::map<std::pair<const Node*, std::string>, Variable> slots_;
  std::vector<Variable> made_;
};

struct GradientDescentOptions {
  std::string name = "GradientDescent";
};
// var -= learning_rate * gradient. (tf.train.GradientDescentOptimizer)
class GradientDescentOptimizer : public Optimizer {
 public:
  explicit GradientDescentOptimizer(Hyperparameter learning_rate,
                                    const GradientDescentOptions& options = {});
  Hyperparameter* learning_rate() override { return &learning_rate_; }

 protected:
  Operation apply(const Output& gradient, const Variable& variable) override;
  Operation apply_sparse(const Output& gradient, const IndexedSlices& slices,
                         const Variable& variable) override;

 private:
  Hyperparameter learning_rate_;
};

struct MomentumOptions {
  bool use_nesterov = false;
  std::string name = "Momentum";
};
// (tf.train.MomentumOptimizer) Slot "momentum".
class MomentumOptimizer : public Optimizer {
 public:
  MomentumOptimizer(Hyperparameter learning_rate, Hyperparameter momentum,
                    const MomentumOptions& options = {});
  std::vector<std::string> slot_names() const override { return {"momentum"}; }
  Hyperparameter* learning_rate() override { return &learning_rate_; }

 protected:
  Operation apply(const Output& gradient, const Variable& variable) override;
  Operation apply_sparse(const Output& gradient, const IndexedSlices& slices,
                         const Variable& variable) override;

 private:
  Operation update(const Output& gradient, const Output& indices, const Variable& variable);

  Hyperparameter learning_rate_;
  Hyperparameter momentum_;
  bool use_nesterov_;
};

struct AdagradOptions {
  double initial_accumulator_value = 0.1;
  std::string name = "Adagrad";
};
// (tf.train.AdagradOptimizer) Slot "accumulator".
class AdagradOptimizer : public Optimizer {
 public:
  // Errors: INVALID_ARGUMENT unless the initial accumulator value is positive.
  explicit AdagradOptimizer(Hyperparameter learning_rate, const AdagradOptions& options = {});
  std::vector<std::string> slot_names() const override { return {"accumulator"}; }
  Hyperparameter* learning_rate() override { return &learning_rate_; }

 protected:
  Operation apply(const Output& gradient, const Variable& variable) override;
  Operation apply_sparse(const Output& gradient, const IndexedSlices& slices,
                         const Variable& variable) override;

 private:
  Operation update(const Output& gradient, const Output& indices, const Variable& variable);

  Hyperparameter learning_rate_;
  double initial_accumulator_value_;
};

struct AdadeltaOptions {
  Hyperparameter learning_rate = 0.001;
  Hyperparameter rho = 0.95;
  Hyperparameter epsilon = 1e-8;
  std::string name = "Adadelta";
};
// (tf.train.AdadeltaOptimizer) Slots "accum" and "accum_update". The paper's rate is 1.
class AdadeltaOptimizer : public Optimizer {
 public:
  explicit AdadeltaOptimizer(const AdadeltaOptions& options = {});
  // `learning_rate` replaces that of the options.
  explicit AdadeltaOptimizer(Hyperparameter learning_rate, AdadeltaOptions options = {});
  std::vector<std::string> slot_names() const override { return {"accum", "accum_update"}; }
  Hyperparameter* learning_rate() override { return &options_.learning_rate; }

 protected:
  Operation apply(const Output& gradient, const Variable& variable) override;
  Operation apply_sparse(const Output& gradient, const IndexedSlices& slices,
                         const Variable& variable) override;

 private:
  Operation update(const Output& gradient, const Output& indices, const Variable& variable);

  AdadeltaOptions options_;
};

struct FtrlOptions {
  double learning_rate_power = -0.5;
  double initial_accumulator_value = 0.1;
  double l1_regularization_strength = 0;
  double l2_regularization_strength = 0;
  std::string name = "Ftrl";
};
// (tf.train.FtrlOptimizer) Slots "accum" and "linear".
class FtrlOptimizer : public Optimizer {
 public:
  // Errors: INVALID_ARGUMENT for a power above 0, and for other numbers below 0.
  explicit FtrlOptimizer(Hyperparameter learning_rate, const FtrlOptions& options = {});
  std::vector<std::string> slot_names() const override { return {"accum", "linear"}; }
  Hyperparameter* learning_rate() override { return &learning_rate_; }

 protected:
  Operation apply(const Output& gradient, const Variable& variable) override;
  Operation apply_sparse(const Output& gradient, const IndexedSlices& slices,
                         const Variable& variable) override;

 private:
  Operation update(const Output& gradient, const Output& indices, const Variable& variable);

  Hyperparameter learning_rate_;
  FtrlOptions options_;
};

struct AdamOptions {
  Hyperparameter learning_rate = 0.001;
  Hyperparameter beta1 = 0.9;
  Hyperparameter beta2 = 0.999;
  Hyperparameter epsilon = 1e-8;
  std::string name = "Adam";
};
// (tf.train.AdamOptimizer) Slots "m" and "v", scalars beta1_power and beta2_power.
class AdamOptimizer : public Optimizer {
 public:
  explicit AdamOptimizer(const AdamOptions& options = {});
  // `learning_rate` replaces that of the options: AdamOptimizer(0.0002, {.beta1 = 0.5}).
  explicit AdamOptimizer(Hyperparameter learning_rate, AdamOptions options = {});
  std::vector<std::string> slot_names() const override { return {"m", "v"}; }
  Hyperparameter* learning_rate() override { return &options_.learning_rate; }

 protected:
  void prepare(const std::vector<Variable>& variables) override;
  Operation apply(const Output& gradient, const Variable& variable) override;
  Operation apply_sparse(const Output& gradient, const IndexedSlices& slices,
                         const Variable& variable) override;
  std::vector<Operation> finish() override;

 private:
  AdamOptions options_;
  Variable beta1_power_;
  Variable beta2_power_;
};

struct RMSPropOptions {
  Hyperparameter decay = 0.9;
  Hyperparameter momentum = 0.0;
  Hyperparameter epsilon = 1e-10;
  bool centered = false;
  std::string name = "RMSProp";
};
// (tf.train.RMSPropOptimizer) Slots "rms" (starts at 1), "mg" when centered, and "momentum".
class RMSPropOptimizer : public Optimizer {
 public:
  explicit RMSPropOptimizer(Hyperparameter learning_rate, const RMSPropOptions& options = {});
  std::vector<std::string> slot_names() const override;
  Hyperparameter* learning_rate() override { return &learning_rate_; }

 protected:
  Operation apply(const Output& gradient, const Variable& variable) override;
  Operation apply_sparse(const Output& gradient, const IndexedSlices& slices,
                         const Variable& variable) override;

 private:
  Operation update(const Output& gradient, const Output& indices, const Variable& variable);

  Hyperparameter learning_rate_;
  RMSPropOptions options_;
};

}  // namespace systole
