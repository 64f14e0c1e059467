#include "systole/keras/optimizers/optimizer.h"

#include <map>
#include <nlohmann/json.hpp>

#include "systole/base/error.h"
#include "systole/base/suggest.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/gradients/indexed_slices.h"
#include "systole/keras/base/counters.h"
#include "systole/keras/optimizers/optimizer_class.h"

namespace systole::keras {

OptimizerDefinition::OptimizerDefinition()
    : iterations_(std::make_shared<Weight>(
          "iterations", Shape{},
          WeightOptions{
              .initializer = zeros_initializer(), .trainable = false, .dtype = DType::s64})) {}

WeightPtr OptimizerDefinition::hyperparameter(const std::string& name, double value) {
  auto made = std::make_shared<Weight>(
      name, Shape{}, WeightOptions{.initializer = zeros_initializer(), .trainable = false});
  made->set_value(Tensor(static_cast<float>(value)));
  return made;
}

WeightPtr OptimizerDefinition::slot(std::vector<WeightPtr>& slots, const WeightPtr& parameter) {
  return slot(slots, parameter, parameter->shape());
}

WeightPtr OptimizerDefinition::slot(std::vector<WeightPtr>& slots, const WeightPtr& parameter,
                                    const Shape& shape, double initial) {
  if (parameter_index_ >= slots.size()) {
    slots.push_back(std::make_shared<Weight>(
        parameter->name(), shape,
        WeightOptions{.initializer = initial == 0
                                         ? zeros_initializer()
                                         : constant_initializer(Tensor(static_cast<float>(initial))
                                                                    .cast(parameter->type().dtype)),
                      .trainable = false,
                      .dtype = parameter->type().dtype}));
  }
  return slots.at(parameter_index_);
}

std::shared_ptr<OptimizerDefinition> OptimizerDefinition::for_model(
    const std::shared_ptr<const void>& model) {
  std::erase_if(*uses_, [](const Use& use) { return use.model.expired(); });
  bool used = has_state_;
  for (const Use& use : *uses_) {
    auto optimizer = use.optimizer.lock();
    if (optimizer && use.model.lock() == model) return optimizer;
    used = used || optimizer.get() == this;
  }
  auto optimizer = used ? without_slots() : shared_from_this();
  optimizer->uses_ = uses_;
  std::erase_if(*uses_, [&](const Use& use) { return use.model.lock() == model; });
  uses_->push_back({model, optimizer});
  return optimizer;
}

void OptimizerDefinition::share_rate(OptimizerDefinition& other) const {
  other.iterations_ = iterations_;
  other.lr_ = lr_;
}

std::shared_ptr<OptimizerDefinition> OptimizerDefinition::without_slots() const {
  try {
    auto made = optimizer_from_json({{"class_name", class_name()}, {"config", config()}});
    share_rate(*made.definition());
    return made.definition();
  } catch (const Error&) {
    throw failed_precondition(
        "optimizer {}: it trains another model already and its state is that model's, expected an "
        "optimizer for each model, a class known to register_optimizer(), or one that overrides "
        "without_slots()",
        class_name());
  }
}

Output OptimizerDefinition::clipped(const Output& gradient) const {
  if (clipnorm_ <= 0 && clipvalue_ <= 0) return gradient;
  Output g = gradient;  // rows of one index count each, as in TensorFlow
  if (clipnorm_ > 0) {
    const auto slices = indexed_slices(g);
    const Output norm = sqrt(reduce_sum(square(slices ? slices->values : g)));
    const Output factor = minimum(clipnorm_ / maximum(norm, 1e-30), 1.0F);
    g = map_values(g, [&](const Output& values) { return values * factor; });
  }
  return clipvalue_ > 0 ? clip_by_value(g, -clipvalue_, clipvalue_) : g;
}

void OptimizerDefinition::add_updates(CallContext& context,
                                      const std::vector<Parameter>& parameters) {
  const Output iterations = context.value(iterations_);
  step_ = cast(iterations + 1, DType::f32);
  if (lr_) {
    rate_ = context.value(lr_);
    if (decay_) {
      rate_ = rate_ / (1.0F + context.value(decay_) * cast(iterations, DType::f32));
    }
  }
  prepare(context);
  for (parameter_index_ = 0; parameter_index_ < parameters.size(); ++parameter_index_) {
    const Parameter& p = parameters[parameter_index_];
    Output value = update(context, p.weight, clipped(p.gradient));
    if (const ConstraintFn& constraint = p.weight->options().constraint) value = constraint(value);
    context.add_update(p.weight, value);
  }
  finish(context);
  context.add_update(iterations_, iterations + 1);
  has_state_ = true;
}

void OptimizerDefinition::make_state(std::span<const WeightPtr> parameters) {
  if (has_state_) return;
  // The updates of a program that is thrown away make the slots.
  const UserGraphScope user_graph;
  Graph scratch;
  const GraphScope scope(scratch);
  CallContext context(/*training=*/true, nullptr);
  std::vector<Parameter> all;
  for (const WeightPtr& weight : parameters) {
    all.push_back({weight, zeros(weight->shape(), weight->type().dtype)});
  }
  add_updates(context, all);
}

OptimizerSpec::OptimizerSpec(const std::string& name) : OptimizerSpec(optimizer_from_json(name)) {}

namespace {

std::vector<OptimizerClass>& optimizer_classes() {
  static std::vector<OptimizerClass> classes = [] {
    std::vector<OptimizerClass> made;
    for (OptimizerClass (*const file)() : optimizer_class_files()) made.push_back(file());
    return made;
  }();
  return classes;
}

}  // namespace

void register_optimizer(const std::string& class_name,
                        std::function<OptimizerSpec(const Json& config)> make) {
  if (find_optimizer_class(class_name) != nullptr) {
    throw make_error(Code::already_exists, "optimizer '{}' is registered already", class_name);
  }
  optimizer_classes().push_back({class_name, class_name, std::move(make)});
}

const OptimizerClass* find_optimizer_class(std::string_view name) {
  for (const OptimizerClass& made : optimizer_classes()) {
    if (made.name == name || made.alias == name) return &made;
  }
  return nullptr;
}

OptimizerSpec optimizer_from_json(const Json& json) {
  const bool is_name = json.is_string();
  const std::string name =
      is_name ? json.get<std::string>() : json.at("class_name").get<std::string>();
  const Json config = is_name ? Json(Json::object()) : json.at("config");
  if (const OptimizerClass* const made = find_optimizer_class(name)) {
    return made->from_config(config);
  }
  std::vector<std::string> names;
  for (const OptimizerClass& made : optimizer_classes()) {
    names.push_back(made.name);
    names.push_back(made.alias);
  }
  throw not_found("Unknown optimizer: {}{}", name, did_you_mean(name, names));
}

}  // namespace systole::keras
