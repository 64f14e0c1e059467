// Losses, metrics, activations and optimizers of Keras: listed, made, and called on tensors.
#include "systole/train/optimizer.h"

#include "bindings.h"
#include "keras.h"
#include "rules.h"
#include "systole/keras/base/fields.h"
#include "systole/keras/base/rule_config.h"
#include "systole/keras/optimizers/optimizer_class.h"

namespace systole::python {
namespace {

// (name, aliases, arguments or None, doc) of the classes of a kind of object.
nb::list describe(const std::vector<keras::ClassDoc>& docs) {
  nb::list all;
  for (const keras::ClassDoc& doc : docs) {
    if (!doc.arguments) continue;  // a class of a program
    all.append(nb::make_tuple(doc.name, texts_object(doc.aliases), texts_object(*doc.arguments), doc.doc));
  }
  return all;
}

// (name, alias, {argument: default}, doc), in the order of the constructor.
nb::list optimizer_list() {
  nb::list all;
  for (keras::OptimizerClass (*const file)() : keras::optimizer_class_files()) {
    const keras::OptimizerClass made = file();
    if (made.def == nullptr) continue;
    all.append(nb::make_tuple(made.name, made.alias, python_of(made.from_config(keras::Json::object())->config()),
                              std::string(made.def->doc)));
  }
  return all;
}

// (name, aliases, class, arguments) of each definition of a loss or metric that Keras has.
template <class Defs>
nb::list rule_classes(const Defs& defs) {
  nb::list all;
  for (const auto* def : defs) {
    if (def->keras_name.empty()) continue;
    std::vector<std::string> arguments;
    for (const RuleArgument& argument : def->arguments) {
      if (argument.in_keras()) arguments.emplace_back(argument.name);
    }
    const std::string made = def->keras_class.empty() ? keras::camel_case(def->keras_name) : std::string(def->keras_class);
    std::vector<std::string> aliases;
    if constexpr (requires { def->keras_aliases; }) aliases = keras::split_names(def->keras_aliases);
    all.append(nb::make_tuple(std::string(def->keras_name), texts_object(aliases), made, texts_object(arguments)));
  }
  return all;
}

nb::list metrics_with_functions() {
  nb::list all;
  for (const std::string& name : keras::metric_names()) all.append(name);
  return all;
}

void bind_optimizer(nb::module_& m) {
  using H = KerasOptimizerHandle;
  nb::class_<H>(m, "KerasOptimizer")
      .def_prop_ro("class_name", [](const H& h) { return h.optimizer->class_name(); })
      .def("config", [](const H& h) { return python_of(building([&] { return h.optimizer->config(); })); })
      .def_prop_ro("lr", [](const H& h) { return h.optimizer->lr(); })
      .def_prop_ro("iterations", [](const H& h) { return h.optimizer->iterations(); })
      .def("weights", [](const H& h) { return h.optimizer->weights(); })
      .def("set_weights", [](const H& h, nb::handle values) {
        const std::vector<Tensor> tensors = tensors_of_list(values);
        building([&] {
          const std::vector<keras::WeightPtr> weights = h.optimizer->weights();
          if (weights.size() != tensors.size()) {
            throw invalid_argument("Length of the specified weight list ({}) does not match the number of weights of the optimizer ({})",
                                   tensors.size(), weights.size());
          }
          for (size_t i = 0; i < weights.size(); ++i) weights[i]->set_value(tensors[i].cast(weights[i]->type().dtype).clone());
        });
      });
  m.def("keras_optimizer_classes", optimizer_list);
  m.def("keras_optimizer", [](const std::string& config) {
    return building([&] { return H{keras::optimizer_from_json(json_of(config))}; });
  });
  m.def("keras_train_optimizer", [](nb::object object) {
    return building([&] { return H{keras::OptimizerSpec(keras::wrap_tf_optimizer(train_optimizer_maker(object)))}; });
  });
}

}  // namespace

keras::LossFn loss_function(nb::object f) {
  return [held = Held(std::move(f))](const Output& y_true, const Output& y_pred) {
    const nb::gil_scoped_acquire gil;
    return output_of(held.get()(wrap(y_true), wrap(y_pred)), y_pred.dtype());
  };
}

keras::LossSpec keras_loss_of(const std::string& text) {
  return text.starts_with("{") ? keras::loss_from_json(json_of(text)) : keras::LossSpec(text);
}

keras::MetricSpec keras_metric_of(const std::string& text) {
  if (!text.starts_with("{")) return text;
  if (auto found = keras::metric_from_class(json_of(text))) return *std::move(found);
  throw not_found("Unknown metric function:{}", text);
}

void bind_keras_functions(nb::module_& m) {
  m.def("keras_initializer_classes", [] { return describe(keras::JsonType<keras::InitializerSpec>::classes()); });
  m.def("keras_regularizer_classes", [] { return describe(keras::JsonType<keras::RegularizerSpec>::classes()); });
  m.def("keras_constraint_classes", [] { return describe(keras::JsonType<keras::ConstraintSpec>::classes()); });
  m.def("keras_activation_names", [] { return texts_object(keras::activation_names()); });
  m.def("keras_loss_names", [] { return texts_object(keras::loss_names()); });
  m.def("keras_metric_names", metrics_with_functions);
  m.def("keras_activation", [](const std::string& name, nb::handle x) {
    return building([&] { return wrap(keras::Activation(name)(output_of(x))); });
  });
  m.def("keras_register_activation", [](const std::string& name, nb::object f) {
    building([&] { keras::register_activation(name, tensor_function(f)); });
  });
  m.def("keras_loss_classes", [] { return rule_classes(all_loss_defs()); });
  m.def("keras_metric_classes", [] { return rule_classes(all_metric_defs()); });
  m.def("keras_loss", [](const std::string& loss, nb::handle y_true, nb::handle y_pred) {
    return building([&] {
      const Output predictions = output_of(y_pred);
      return wrap(keras_loss_of(loss)(output_of(y_true, predictions.dtype()), predictions));
    });
  });
  m.def("keras_metric", [](const std::string& metric, nb::handle y_true, nb::handle y_pred) {
    return building([&] {
      const Output predictions = output_of(y_pred);
      const Output targets = output_of(y_true, predictions.dtype());
      const auto found = keras_metric_of(metric).resolve(predictions.shape(), targets.shape(), keras::LossSpec());
      return wrap(found.function(targets, predictions));
    });
  });
  m.def("keras_register_loss", [](const std::string& name, nb::object f) {
    building([&] { keras::register_loss(name, loss_function(f)); });
  });
  m.def("keras_register_metric", [](const std::string& name, nb::object f) {
    building([&] { keras::register_metric(name, loss_function(f)); });
  });
  // The value of an initializer of a class, for a layer of Python.
  m.def("keras_initializer", [](const std::string& config) {
    return building([&] {
      return InitializerHandle{keras::JsonType<keras::InitializerSpec>::from_json(json_of(config)).for_weight()};
    });
  });
  m.def("keras_regularizer", [](const std::string& config) {
    return building([&] {
      return RegularizerHandle{keras::JsonType<keras::RegularizerSpec>::from_json(json_of(config)).function()};
    });
  });
  m.def("keras_constraint", [](const std::string& config) {
    return building([&] {
      return RegularizerHandle{keras::JsonType<keras::ConstraintSpec>::from_json(json_of(config)).function()};
    });
  });
  bind_optimizer(m);
}

}  // namespace systole::python
