// What has one definition for all front ends (losses, metrics, schedules, initializers, regularizers,
// optimizers): listed, and called, by name.
#include "rules.h"

#include "bindings.h"
#include "systole/train/cross_shard_optimizer.h"
#include "systole/train/losses/losses.h"
#include "systole/train/metrics/metrics.h"
#include "systole/train/optimizer.h"
#include "systole/train/schedules/schedule_def.h"

namespace systole::python {
namespace {

struct OptimizerHandle {
  std::shared_ptr<Optimizer> optimizer;
};

// ((name, kind, default or None, has a default), ...) of the arguments that tf.* has.
nb::list describe(std::span<const RuleArgument> arguments) {
  static constexpr const char* kKinds[] = {"number", "integer", "flag", "text", "numbers", "integers"};
  nb::list all;
  for (const RuleArgument& argument : arguments) {
    if (!argument.in_train()) continue;
    nb::object usual = nb::none();
    if (argument.usual) {
      if (argument.kind == RuleArgumentKind::flag) {
        usual = nb::cast(*argument.usual != 0);
      } else if (argument.kind == RuleArgumentKind::integer) {
        usual = nb::cast(static_cast<int64_t>(*argument.usual));
      } else {
        usual = nb::cast(*argument.usual);
      }
    }
    if (!argument.usual_text.empty()) usual = nb::cast(std::string(argument.usual_text));
    all.append(nb::make_tuple(std::string(argument.name), kKinds[static_cast<int>(argument.kind)], usual,
                              !usual.is_none() || argument.may_be_missing, std::string(argument.doc)));
  }
  return all;
}

RuleValues values_of_dict(std::span<const RuleArgument> arguments, nb::dict given) {
  RuleValues values = usual_values(arguments);
  for (const RuleArgument& argument : arguments) {
    const std::string name(argument.name);
    if (!given.contains(name.c_str())) continue;
    nb::object value = given[name.c_str()];
    if (value.is_none()) continue;
    if (argument.kind == RuleArgumentKind::text) {
      values.set(name, nb::cast<std::string>(value));
    } else if (argument.kind == RuleArgumentKind::numbers || argument.kind == RuleArgumentKind::integers) {
      std::vector<double> list;
      for (nb::handle element : value) list.push_back(nb::cast<double>(nb::float_(nb::borrow(element))));
      values.set(name, list);
    } else {
      values.set(name, nb::cast<double>(nb::float_(value)));
    }
  }
  return values;
}

template <class Def>
const Def& find_def(std::span<const Def* const> all, std::string_view name, std::string_view Def::*member) {
  for (const Def* def : all) {
    if (def->*member == name) return *def;
  }
  throw nb::key_error(std::string(name).c_str());
}

void bind_losses(nb::module_& m) {
  m.def("losses", [] {
    nb::list all;
    for (const LossDef* def : all_loss_defs()) {
      if (def->value == nullptr && def->weighted_value == nullptr) continue;
      all.append(nb::make_tuple(std::string(def->name), std::string(def->doc), describe(def->arguments)));
    }
    return all;
  });
  m.def("loss", [](const std::string& name, nb::handle labels, nb::handle predictions, nb::handle weights, nb::dict given,
                   const std::string& reduction, const std::string& scope, const std::string& collection) {
    return building([&] {
      const LossDef& def = find_def(all_loss_defs(), name, &LossDef::name);
      losses::WeightedLossOptions options{.weights = input_of(weights), .scope = scope, .loss_collection = collection};
      using enum losses::Reduction;
      options.reduction = reduction == "none"                        ? none
                          : reduction == "weighted_sum"              ? sum
                          : reduction == "weighted_sum_over_batch_size" ? sum_over_batch_size
                          : reduction == "weighted_mean"             ? mean
                                                                     : sum_by_nonzero_weights;
      const bool are_classes = def.labels == LossLabels::class_numbers;
      const DType like = are_classes ? DType::invalid : symbolic_dtype(predictions);
      return wrap(losses::weighted_loss(def, values_of_dict(def.arguments, given), input_of(labels, like),
                                        input_of(predictions), options));
    });
  });
  m.def("compute_weighted_loss",
        [](nb::handle values, nb::handle weights, const std::string& scope, const std::string& collection) {
          return building([&] {
            return wrap(losses::compute_weighted_loss(
                input_of(values), {.weights = input_of(weights), .scope = scope, .loss_collection = collection}));
          });
        });
  m.def("get_regularization_loss", [] { return building([] { return wrap(losses::get_regularization_loss()); }); });
  m.def("get_total_loss", [](bool regularization) {
    return building([&] { return wrap(losses::get_total_loss(regularization)); });
  });
}

void bind_metrics(nb::module_& m) {
  m.def("metrics", [] {
    nb::list all;
    for (const MetricDef* def : all_metric_defs()) {
      if (def->name.empty() || def->sums == nullptr) continue;
      const bool values_alone = def->inputs == MetricInputs::output || def->name == "mean";
      all.append(nb::make_tuple(std::string(def->name), std::string(def->doc), describe(def->arguments), values_alone));
    }
    return all;
  });
  m.def("metric", [](const std::string& name, nb::handle labels, nb::handle predictions, nb::handle weights, nb::dict given,
                     const std::string& scope) {
    return building([&] {
      const MetricDef& def = find_def(all_metric_defs(), name, &MetricDef::name);
      const Metric metric = metrics::streaming_metric(def, values_of_dict(def.arguments, given), input_of(labels),
                                                      input_of(predictions), input_of(weights), scope);
      nb::list accumulators;
      for (const Variable& variable : metric.accumulators) accumulators.append(wrap(variable));
      return nb::make_tuple(wrap(metric.value), wrap(metric.update_op), accumulators);
    });
  });
}

void bind_schedules(nb::module_& m) {
  m.def("schedules", [] {
    nb::list all;
    for (const ScheduleDef* def : all_schedule_defs()) {
      all.append(nb::make_tuple(std::string(def->name), std::string(def->doc), describe(def->arguments)));
    }
    return all;
  });
  m.def("schedule", [](const std::string& name, nb::handle global_step, nb::dict given) {
    return building([&] {
      const ScheduleDef& def = find_def(all_schedule_defs(), name, &ScheduleDef::name);
      return wrap(def.make(values_of_dict(def.arguments, given), input_of(global_step)));
    });
  });
}

void bind_initializers(nb::module_& m) {
  nb::class_<InitializerHandle>(m, "Initializer")
      .def("_make", [](const InitializerHandle& handle, nb::object shape, nb::object dtype) {
        return building([&] { return wrap(handle.initializer(shape_of_object(shape), dtype_of_object(dtype))); });
      });
  m.def("initializers", [] {
    nb::list all;
    for (const InitializerDef* def : all_initializer_defs()) {
      all.append(nb::make_tuple(std::string(def->keras_class), std::string(def->doc), describe(def->arguments),
                                def->seeded));
    }
    return all;
  });
  m.def("initializer", [](const std::string& name, nb::dict given, nb::object seed) {
    return building([&] {
      const InitializerDef& def = find_def(all_initializer_defs(), name, &InitializerDef::keras_class);
      const auto number = seed.is_none() ? std::nullopt : std::optional(nb::cast<int64_t>(seed));
      return InitializerHandle{make_initializer(def, values_of_dict(def.arguments, given), number)};
    });
  });
  nb::class_<RegularizerHandle>(m, "Regularizer")
      .def("__call__", [](const RegularizerHandle& handle, nb::handle weights) {
        return building([&] { return wrap(handle.regularizer(output_of(weights))); });
      });
  m.def("regularizer", [](const std::string& name, nb::dict given) {
    return building([&] {
      const RegularizerDef& def = find_def(all_regularizer_defs(), name, &RegularizerDef::keras_class);
      return RegularizerHandle{
          [values = values_of_dict(def.arguments, given), &def](const Output& weights) {
            return def.value(values, weights);
          }};
    });
  });
}

// -- Optimizers.

nb::object argument_object(const ArgumentValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return nb::cast(*flag);
  if (const auto* number = std::get_if<double>(&value)) return nb::cast(*number);
  if (const auto* input = std::get_if<Hyperparameter>(&value)) {
    return input->literal() ? nb::cast(*input->literal()) : nb::none();
  }
  return nb::none();
}

void set_argument(OptimizerArgument& argument, nb::handle value) {
  if (std::holds_alternative<bool>(argument.value)) {
    argument.value = nb::cast<bool>(nb::bool_(nb::borrow(value)));
  } else if (std::holds_alternative<double>(argument.value)) {
    argument.value = nb::cast<double>(nb::float_(nb::borrow(value)));
  } else if (std::holds_alternative<Hyperparameter>(argument.value)) {
    argument.value = Hyperparameter(input_of(value));
  } else {
    NamePatterns patterns;
    for (nb::handle text : nb::borrow<nb::object>(value)) patterns.push_back(nb::cast<std::string>(text));
    argument.value = std::move(patterns);
  }
}

std::shared_ptr<Optimizer> rule_optimizer(const std::string& name, nb::handle learning_rate, nb::dict given) {
  for (const OptimizerClass& made : optimizer_classes()) {
    if (made.name != name) continue;
    std::vector<OptimizerArgument> arguments = made.arguments;
    for (OptimizerArgument& argument : arguments) {
      const std::string key(argument.name);
      if (given.contains(key.c_str())) set_argument(argument, given[key.c_str()]);
    }
    return made.make(Hyperparameter(input_of(learning_rate)), arguments);
  }
  throw nb::key_error(name.c_str());
}

// An optimizer that is a class of Python.
class PythonOptimizer : public Optimizer {
 public:
  explicit PythonOptimizer(nb::object object) : PythonOptimizer(Held(std::move(object))) {}
  explicit PythonOptimizer(Held object) : Optimizer("Optimizer"), object_(std::move(object)) {}

  std::vector<Variable> variables() const override {
    const nb::gil_scoped_acquire gil;
    std::vector<Variable> all;
    for (nb::handle variable : nb::object(object_.get().attr("variables")())) all.push_back(variable_of(variable));
    return all;
  }

  Operation apply_gradients(const std::vector<GradientAndVariable>& grads_and_vars,
                            const ApplyGradientsOptions& options) override {
    const nb::gil_scoped_acquire gil;
    nb::list pairs;
    for (const auto& [gradient, variable] : grads_and_vars) {
      pairs.append(nb::make_tuple(wrap(gradient), wrap(variable)));
    }
    nb::object step = options.global_step.valid() ? wrap(options.global_step) : nb::none();
    return operation_of(object_.get().attr("apply_gradients")(pairs, step));
  }

 protected:
  Operation apply(const Output&, const Variable& variable) override {
    throw internal_error("optimizer of Python: update of '{}' alone", variable.name());
  }

 private:
  Held object_;
};

// An optimizer that others hold, too.
class SharedOptimizer : public Optimizer {
 public:
  explicit SharedOptimizer(std::shared_ptr<Optimizer> inner) : Optimizer(inner->name()), inner_(std::move(inner)) {}

  Operation apply_gradients(const std::vector<GradientAndVariable>& grads_and_vars,
                            const ApplyGradientsOptions& options) override {
    return inner_->apply_gradients(grads_and_vars, options);
  }
  std::vector<std::string> slot_names() const override { return inner_->slot_names(); }
  Variable slot(const Variable& variable, std::string_view name) const override { return inner_->slot(variable, name); }
  std::vector<Variable> variables() const override { return inner_->variables(); }
  Hyperparameter* learning_rate() override { return inner_->learning_rate(); }

 protected:
  Operation apply(const Output&, const Variable& variable) override {
    throw internal_error("optimizer: update of '{}' alone", variable.name());
  }

 private:
  std::shared_ptr<Optimizer> inner_;
};

std::vector<GradientAndVariable> pairs_of(nb::list list) {
  std::vector<GradientAndVariable> pairs;
  for (nb::handle pair : list) {
    const Variable variable = variable_of(pair[1]);
    pairs.push_back({pair[0].is_none() ? Output() : output_of(pair[0], variable.dtype()), variable});
  }
  return pairs;
}

void bind_optimizers(nb::module_& m) {
  m.def("optimizers", [] {
    nb::list all;
    for (const OptimizerClass& made : optimizer_classes()) {
      nb::list arguments;
      for (const OptimizerArgument& argument : made.arguments) {
        arguments.append(nb::make_tuple(std::string(argument.name), argument_object(argument.usual),
                                        argument.required, std::string(argument.doc)));
      }
      all.append(nb::make_tuple(made.name, made.doc, made.learning_rate ? nb::cast(*made.learning_rate) : nb::none(),
                                arguments));
    }
    return all;
  });
  m.def("make_optimizer", [](const std::string& name, nb::object learning_rate, nb::dict given) {
    return building([&] { return OptimizerHandle{rule_optimizer(name, learning_rate, given)}; });
  });
  m.def("cross_shard_optimizer", [](nb::object made, nb::object object, bool sum) {
    return building([&] {
      const std::shared_ptr<Optimizer> inner = nb::isinstance<OptimizerHandle>(made)
                                                   ? nb::cast<const OptimizerHandle&>(made).optimizer
                                                   : std::make_shared<PythonOptimizer>(object);
      CrossShardOptimizerOptions options;
      if (sum) options.reduction = CrossShardOptimizerOptions::Reduction::SUM;
      return OptimizerHandle{std::make_shared<CrossShardOptimizer>(inner, options)};
    });
  });
  nb::class_<OptimizerHandle>(m, "Optimizer")
      .def("compute_gradients",
           [](const OptimizerHandle& handle, nb::handle loss, nb::list var_list, nb::handle grad_loss) {
             return building([&] {
               ComputeGradientsOptions options;
               for (nb::handle variable : var_list) options.var_list.push_back(variable_of(variable));
               if (!grad_loss.is_none()) options.grad_loss = output_of(grad_loss);
               nb::list pairs;
               for (const auto& [gradient, variable] : handle.optimizer->compute_gradients(output_of(loss), options)) {
                 pairs.append(nb::make_tuple(wrap(gradient), wrap(variable)));
               }
               return pairs;
             });
           })
      .def("apply_gradients",
           [](const OptimizerHandle& handle, nb::list pairs, nb::handle global_step, const std::string& name) {
             return building([&] {
               ApplyGradientsOptions options{.name = name};
               if (!global_step.is_none()) options.global_step = variable_of(global_step);
               return wrap(handle.optimizer->apply_gradients(pairs_of(pairs), options));
             });
           })
      .def("slot_names",
           [](const OptimizerHandle& handle) {
             nb::list names;
             for (const std::string& name : handle.optimizer->slot_names()) names.append(name);
             return names;
           })
      .def("slot",
           [](const OptimizerHandle& handle, nb::handle variable, const std::string& name) {
             return wrap(handle.optimizer->slot(variable_of(variable), name));
           })
      .def("variables", [](const OptimizerHandle& handle) {
        nb::list all;
        for (const Variable& variable : handle.optimizer->variables()) all.append(wrap(variable));
        return all;
      });
}

}  // namespace

std::function<std::unique_ptr<Optimizer>()> train_optimizer_maker(nb::handle object) {
  // Keras adds the gradients of replicas itself: CrossShardOptimizer stands for the one inside.
  if (nb::hasattr(object, "_opt")) return train_optimizer_maker(object.attr("_opt"));
  if (!nb::hasattr(object, "_rule")) {
    return [held = Held(nb::borrow(object))] { return std::make_unique<PythonOptimizer>(held); };
  }
  return [rule = Held(object.attr("_rule"))]() -> std::unique_ptr<Optimizer> {
    const nb::gil_scoped_acquire gil;
    const nb::handle values = rule.get();
    return std::make_unique<SharedOptimizer>(
        rule_optimizer(nb::cast<std::string>(values[0]), nb::object(values[1]), nb::cast<nb::dict>(values[2])));
  };
}

Initializer initializer_of(nb::handle object) {
  if (object.is_none()) return nullptr;
  if (nb::isinstance<InitializerHandle>(object)) return nb::cast<const InitializerHandle&>(object).initializer;
  if (nb::hasattr(object, "_core")) return initializer_of(object.attr("_core"));
  return [held = Held(nb::borrow(object))](const Shape& shape, DType dtype) {
    const nb::gil_scoped_acquire gil;
    const nb::object call = nb::module_::import_("systole_tpu.tensorflow._values").attr("call_initializer");
    return output_of(call(held.get(), shape_object(shape), dtype_name(dtype)), dtype);
  };
}

layers::Regularizer regularizer_of(nb::handle object) {
  if (object.is_none()) return nullptr;
  if (nb::isinstance<RegularizerHandle>(object)) return nb::cast<const RegularizerHandle&>(object).regularizer;
  return [held = Held(nb::borrow(object))](const Output& weights) { return output_of(held.get()(wrap(weights))); };
}

layers::Activation activation_of(nb::handle object) {
  if (object.is_none()) return nullptr;
  return [held = Held(nb::borrow(object))](const Output& x) { return output_of(held.get()(wrap(x))); };
}

void bind_rules(nb::module_& m) {
  bind_losses(m);
  bind_metrics(m);
  bind_schedules(m);
  bind_initializers(m);
  bind_optimizers(m);
}

}  // namespace systole::python
