#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "systole/base/error.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/state_ops.h"
#include "systole/keras/optimizers/optimizer.h"
#include "systole/session/session.h"

namespace systole::keras {
namespace {

// Returns a number of this graph that no other graph of the process has.
int64_t number_of_graph(Graph& graph) {
  static int64_t last = 0;
  int64_t& number = graph.counter("keras/tf_optimizer_graph");
  if (number == 0) number = ++last;
  return number;
}

Tensor initial_value(const Variable& variable) {
  Session session("", {.graph = &variable.handle().graph().root()});
  return session.run(variable.initial_value());
}

class TfOptimizer : public OptimizerDefinition {
 public:
  explicit TfOptimizer(MakeTfOptimizer make) : make_(std::move(make)) {
    const std::unique_ptr<systole::Optimizer> probe = make_();
    const Hyperparameter* const rate = probe->learning_rate();
    if (rate == nullptr) return;
    if (rate->is_output()) {
      throw invalid_argument(
          "{}: learning rate, got a tensor, expected a number: the model has a graph of its own. "
          "Change the rate with the callback LearningRateScheduler",
          probe->name());
    }
    if (rate->literal()) lr_ = hyperparameter("lr", *rate->literal());
  }

  std::string class_name() const override { return "TFOptimizer"; }
  Json config() const override {
    throw make_error(Code::unimplemented,
                     "TFOptimizer: an optimizer of tf.train cannot be saved, expected one of "
                     "keras::optimizers");
  }

  std::vector<WeightPtr> weights() const override {
    std::vector<WeightPtr> all = {iterations_};
    all.insert(all.end(), state_.begin(), state_.end());
    return all;
  }

  void add_updates(CallContext& context, const std::vector<Parameter>& parameters) override {
    std::vector<GradientAndVariable> pairs;
    std::vector<WeightPtr> changed;
    for (const Parameter& p : parameters) {
      pairs.push_back({p.gradient, context.variable(p.weight)});
      changed.push_back(p.weight);
    }
    systole::Optimizer& optimizer = optimizer_in(pairs.at(0).variable.handle().graph().root());
    if (lr_) *optimizer.learning_rate() = context.value(lr_);
    const Operation applied = optimizer.apply_gradients(pairs);
    bind_state(context, optimizer.variables());
    changed.insert(changed.end(), state_.begin(), state_.end());
    context.add_operation(applied, std::move(changed));
    const ControlDependencies after({applied});
    for (size_t i = 0; i < parameters.size(); ++i) {
      const ConstraintFn& constraint = parameters[i].weight->options().constraint;
      if (!constraint) continue;
      const Variable& variable = pairs[i].variable;
      context.add_operation(variable.assign(constraint(variable.read_value())), {});
    }
    context.add_update(iterations_, context.value(iterations_) + 1);
  }

 protected:
  std::shared_ptr<OptimizerDefinition> without_slots() const override {
    auto copy = std::make_shared<TfOptimizer>(make_);
    share_rate(*copy);
    return copy;
  }

  // add_updates() does without it.
  Output update(CallContext& context, const WeightPtr& parameter, const Output&) override {
    return context.value(parameter);
  }

 private:
  systole::Optimizer& optimizer_in(Graph& graph) {
    std::unique_ptr<systole::Optimizer>& found = by_graph_[number_of_graph(graph)];
    if (found == nullptr) found = make_();
    return *found;
  }

  void bind_state(CallContext& context, const std::vector<Variable>& variables) {
    bool fits = state_.size() == variables.size();
    for (size_t i = 0; fits && i < variables.size(); ++i) {
      fits = state_[i]->type() == variables[i].type();
    }
    if (!fits) {
      state_.clear();
      for (const Variable& variable : variables) {
        state_.push_back(std::make_shared<Weight>(variable.name(), variable.shape(),
                                                  WeightOptions{.initializer = zeros_initializer(),
                                                                .trainable = false,
                                                                .dtype = variable.dtype()}));
        state_.back()->set_value(initial_value(variable));
      }
    }
    for (size_t i = 0; i < variables.size(); ++i) context.bind(state_[i], variables[i]);
  }

  const MakeTfOptimizer make_;
  std::map<int64_t, std::unique_ptr<systole::Optimizer>> by_graph_;
  std::vector<WeightPtr> state_;  // slots and scalars, in the order of creation
};

}  // namespace

std::shared_ptr<OptimizerDefinition> wrap_tf_optimizer(MakeTfOptimizer make) {
  return std::make_shared<TfOptimizer>(std::move(make));
}

}  // namespace systole::keras
