// Optimizers of Keras, whose formulas differ from tf.train's, and tf.train's wrapped.
// (tf.keras.optimizers)
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "systole/keras/base/json.h"
#include "systole/keras/engine/call_context.h"
#include "systole/train/optimizer.h"

namespace systole::keras {

struct Parameter {
  WeightPtr weight;
  Output gradient;
};

// Base of optimizers. Its state (iterations, hyperparameters, slots) are weights, so that it lives
// as long as the optimizer. Slots belong to one model: see for_model().
class OptimizerDefinition : public std::enable_shared_from_this<OptimizerDefinition> {
 public:
  virtual ~OptimizerDefinition() = default;
  virtual std::string class_name() const = 0;
  virtual Json config() const = 0;
  // Adds the updates of the parameters, and of the optimizer's own state, to `context`. Constraints
  // are applied to the new values.
  virtual void add_updates(CallContext& context, const std::vector<Parameter>& parameters);
  // The weights that files keep, in their order: iterations, slots. Made by the first
  // add_updates().
  virtual std::vector<WeightPtr> weights() const = 0;
  // The learning rate; null for an optimizer without one.
  virtual WeightPtr lr() const { return lr_; }
  const WeightPtr& iterations() const { return iterations_; }
  // Whether weights() is complete: the optimizer has been used.
  bool has_state() const { return has_state_; }
  // Completes weights() for a model with these trainable weights, before its first step.
  void make_state(std::span<const WeightPtr> parameters);
  // The optimizer that trains `model`: this one for the first model that asks, and the same one
  // each time a model asks. Other models get one each with slots of its own, which shares the
  // iterations, the learning rate and the other hyperparameters, as in Keras. Errors: those of
  // without_slots().
  std::shared_ptr<OptimizerDefinition> for_model(const std::shared_ptr<const void>& model);
  // Called after weights() were set from a file: finds what the file does not keep.
  virtual void restored() {}
  // How many slots each parameter has, and how many of them stand side by side in files of
  // TensorFlow from 2.11 on and of Keras 3. 0: not known.
  struct SlotLayout {
    size_t kinds = 0;
    size_t interleaved = 0;
  };
  virtual SlotLayout slot_layout() const { return {}; }

 protected:
  OptimizerDefinition();
  // `gradient` after clipping. Returns the new value of the parameter.
  virtual Output update(CallContext& context, const WeightPtr& parameter,
                        const Output& gradient) = 0;
  // A copy without slots that shares the hyperparameters' weights. By default one made from
  // config() by the registered class. Errors: FAILED_PRECONDITION when there is no such class.
  virtual std::shared_ptr<OptimizerDefinition> without_slots() const;
  // Called by a copy, whose state is another's.
  void forget_state() { has_state_ = false; }
  // Lets `other` use this optimizer's iterations and learning rate.
  void share_rate(OptimizerDefinition& other) const;
  // Called once before the updates of a step.
  virtual void prepare(CallContext& context) { static_cast<void>(context); }
  // Called once after them.
  virtual void finish(CallContext& context) { static_cast<void>(context); }

  // A scalar that a program may change between runs.
  WeightPtr hyperparameter(const std::string& name, double value);
  // One weight for each parameter, of its shape or `shape`, `initial` at first. The same at each
  // call.
  WeightPtr slot(std::vector<WeightPtr>& slots, const WeightPtr& parameter);
  WeightPtr slot(std::vector<WeightPtr>& slots, const WeightPtr& parameter, const Shape& shape,
                 double initial = 0);

  double clipnorm_ = 0;   // of each gradient; 0: none
  double clipvalue_ = 0;  // of each element; 0: none
  WeightPtr lr_;
  WeightPtr decay_;
  WeightPtr iterations_;
  // lr / (1 + decay * iterations) in this program; set before update().
  Output rate_;
  // iterations + 1 as f32.
  Output step_;
  // The parameter that update() is for, among all.
  size_t parameter_index_ = 0;

 private:
  Output clipped(const Output& gradient) const;

  struct Use {
    std::weak_ptr<const void> model;
    std::weak_ptr<OptimizerDefinition> optimizer;
  };

  bool has_state_ = false;
  std::shared_ptr<std::vector<Use>> uses_ = std::make_shared<std::vector<Use>>();  // of all copies
};

// Makes a tf.train optimizer without state.
using MakeTfOptimizer = std::function<std::unique_ptr<systole::Optimizer>()>;
// Wraps one. Each graph that it is used in gets an optimizer of its own; the slots of a model
// continue where they were if their shapes are the same. `lr` is the learning rate if that is a
// number. It cannot be saved. Errors: INVALID_ARGUMENT for a learning rate that is a tensor, which
// would belong to another graph.
std::shared_ptr<OptimizerDefinition> wrap_tf_optimizer(MakeTfOptimizer make);

// A handle on an optimizer: copies are the same one.
class OptimizerSpec {
 public:
  OptimizerSpec() = default;
  // With its default arguments. Errors: NOT_FOUND `Unknown optimizer: <name>` with the nearest
  // name.
  OptimizerSpec(const char* name) : OptimizerSpec(std::string(name)) {}  // NOLINT
  OptimizerSpec(const std::string& name);                                // NOLINT
  explicit OptimizerSpec(std::shared_ptr<OptimizerDefinition> definition)
      : definition_(std::move(definition)) {}
  // A tf.train optimizer: st::AdamOptimizer(0.0002). (TFOptimizer)
  template <std::derived_from<systole::Optimizer> T>
  OptimizerSpec(const T& optimizer)  // NOLINT(google-explicit-constructor)
      : OptimizerSpec(wrap_tf_optimizer([optimizer] { return std::make_unique<T>(optimizer); })) {}

  explicit operator bool() const { return definition_ != nullptr; }
  // See OptimizerDefinition::for_model().
  OptimizerSpec for_model(const std::shared_ptr<const void>& model) const {
    return OptimizerSpec(definition_->for_model(model));
  }
  OptimizerDefinition* operator->() const { return definition_.get(); }
  const std::shared_ptr<OptimizerDefinition>& definition() const { return definition_; }

 private:
  std::shared_ptr<OptimizerDefinition> definition_;
};

// From {"class_name": ..., "config": {...}} or a name.
OptimizerSpec optimizer_from_json(const Json& json);

// Makes a class of the user's known by name, to compile() and to files. `make` gets what config()
// wrote, or {} for a name alone. Not thread-safe. Errors: ALREADY_EXISTS.
void register_optimizer(const std::string& class_name,
                        std::function<OptimizerSpec(const Json& config)> make);

// Makes an optimizer of a rule. `learning_rate`: the first argument, if any; `lr`: that of the
// options. Errors: INVALID_ARGUMENT for both, and for arguments out of range.
OptimizerSpec make_rule_optimizer(const OptimizerDef& def, std::optional<double> learning_rate,
                                  std::optional<double> lr,
                                  std::vector<OptimizerArgument> arguments);

// The classes of the rules in graph/optimizers, of which each declares its own in the namespace
// `optimizers`: Adam(0.001), Adam(0.001, {.beta_1 = 0.5}) and Adam({.lr = 0.001, .beta_1 = 0.5}).
// Errors: INVALID_ARGUMENT for a rate that is given twice, and for arguments out of range.
//
// Of a table that is read by lookups alone (Embedding) only the rows that a batch looked up have a
// gradient. All rows count as having one, of 0 for the others, as in TensorFlow 1.12 and from 2.11
// on, but no gradient of the table's size is made. With `lazy`, the form of the classes of
// TensorFlow 2.0 to 2.10, the other rows and their slots stay as they are.
template <class Rule>
class OptimizerSpecOf : public OptimizerSpec {
 public:
  using Options = typename Rule::KerasOptions;
  explicit OptimizerSpecOf(const Options& options = {}) : OptimizerSpecOf(std::nullopt, options) {}
  explicit OptimizerSpecOf(double lr, const Options& options = {})
      : OptimizerSpecOf(std::optional(lr), options) {}

 private:
  OptimizerSpecOf(std::optional<double> learning_rate, const Options& options)
      : OptimizerSpec(make_rule_optimizer(Rule::def, learning_rate, options.lr,
                                          keras_arguments<Rule>(options))) {}
};

}  // namespace systole::keras
