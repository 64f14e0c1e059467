// Optimizers of Keras, whose formulas differ from tf.train's, and tf.train's wrapped.
// (tf.keras.optimizers)
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "systole/keras/call_context.h"
#include "systole/keras/json.h"
#include "systole/train/optimizer.h"

namespace systole::keras {

struct Parameter {
  WeightPtr weight;
  Output gradient;
};

// Base of optimizers. Its state (iterations, hyperparameters, slots) are weights, so that it lives
// as long as the optimizer, whichever model uses it.
class OptimizerDefinition {
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
  // Called after weights() were set from a file: finds what the file does not keep.
  virtual void restored() {}

 protected:
  OptimizerDefinition();
  // `gradient` after clipping. Returns the new value of the parameter.
  virtual Output update(CallContext& context, const WeightPtr& parameter,
                        const Output& gradient) = 0;
  // Called once before the updates of a step.
  virtual void prepare(CallContext& context) { static_cast<void>(context); }
  // Called once after them.
  virtual void finish(CallContext& context) { static_cast<void>(context); }

  // A scalar that a program may change between runs.
  WeightPtr hyperparameter(const std::string& name, double value);
  // One weight for each parameter, of its shape or `shape`, zeros at first. The same at each call.
  WeightPtr slot(std::vector<WeightPtr>& slots, const WeightPtr& parameter);
  WeightPtr slot(std::vector<WeightPtr>& slots, const WeightPtr& parameter, const Shape& shape);

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

  bool has_state_ = false;
};

// Makes a tf.train optimizer without state.
using MakeTfOptimizer = std::function<std::unique_ptr<systole::Optimizer>()>;
// Wraps one. Each model that it trains gets an optimizer of its own; slots continue where they
// were if their shapes are the same. `lr` is the learning rate if that is a number. It cannot be
// saved. Errors: INVALID_ARGUMENT for a learning rate that is a tensor, which would belong to
// another graph.
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

// NOLINTBEGIN(readability-identifier-naming): the names of Keras.
namespace optimizers {

struct SGDOptions {
  double momentum = 0;
  double decay = 0;
  bool nesterov = false;
  double clipnorm = 0;
  double clipvalue = 0;
};
// v = momentum v - lr g; p += v, with nesterov p += momentum v - lr g.
OptimizerSpec SGD(double lr = 0.01, const SGDOptions& options = {});

struct AdamOptions {
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  double decay = 0;
  bool amsgrad = false;
  double clipnorm = 0;
  double clipvalue = 0;
};
// Source: Kingma and Ba, arXiv 1412.6980; amsgrad: Reddi et al., ICLR 2018.
OptimizerSpec Adam(double lr = 0.001, const AdamOptions& options = {});

struct RMSpropOptions {
  double rho = 0.9;
  double epsilon = 1e-7;
  double decay = 0;
  double clipnorm = 0;
  double clipvalue = 0;
};
// a = rho a + (1 - rho) g^2; p -= lr g / (sqrt(a) + epsilon).
// Source: Tieleman and Hinton, COURSERA: Neural Networks for Machine Learning 6.5, 2012.
OptimizerSpec RMSprop(double lr = 0.001, const RMSpropOptions& options = {});

struct AdagradOptions {
  double epsilon = 1e-7;
  double decay = 0;
  double clipnorm = 0;
  double clipvalue = 0;
};
// a += g^2, from 0; p -= lr g / (sqrt(a) + epsilon). Source: Duchi et al., JMLR 12, 2011.
OptimizerSpec Adagrad(double lr = 0.01, const AdagradOptions& options = {});

struct AdadeltaOptions {
  double rho = 0.95;
  double epsilon = 1e-7;
  double decay = 0;
  double clipnorm = 0;
  double clipvalue = 0;
};
// a = rho a + (1 - rho) g^2; u = g sqrt(d + epsilon) / sqrt(a + epsilon); p -= lr u;
// d = rho d + (1 - rho) u^2. Source: Zeiler, arXiv 1212.5701.
OptimizerSpec Adadelta(double lr = 1, const AdadeltaOptions& options = {});

struct AdamaxOptions {
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  double decay = 0;
  double clipnorm = 0;
  double clipvalue = 0;
};
// m as Adam; u = max(beta_2 u, |g|); p -= lr / (1 - beta_1^t) m / (u + epsilon).
// Source: Kingma and Ba, arXiv 1412.6980, section 7.
OptimizerSpec Adamax(double lr = 0.002, const AdamaxOptions& options = {});

struct NadamOptions {
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  double schedule_decay = 0.004;
  double clipnorm = 0;
  double clipvalue = 0;
};
// Adam with Nesterov momentum. Source: Dozat, 2015,
// http://cs229.stanford.edu/proj2015/054_report.pdf
OptimizerSpec Nadam(double lr = 0.002, const NadamOptions& options = {});

}  // namespace optimizers
// NOLINTEND(readability-identifier-naming)
}  // namespace systole::keras
