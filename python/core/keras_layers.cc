// Layers of Keras, their symbolic tensors and weights, and layers that are classes of Python.
#include <map>
#include <utility>

#include "bindings.h"
#include "keras.h"
#include "rules.h"
#include "systole/graph/api/array_ops.h"
#include "systole/keras/engine/layer_class.h"

namespace systole::python {
namespace {

thread_local keras::CallContext* current_context = nullptr;
thread_local const nb::list* live_objects = nullptr;

nb::list shapes_object(const std::vector<Shape>& shapes) {
  nb::list all;
  for (const Shape& shape : shapes) all.append(shape_object(shape));
  return all;
}

// -- Layers that are objects of Python. They keep the object, and the object keeps them: both live as
// long as the process.
template <class Base>
class PythonDefinition : public Base {
 public:
  PythonDefinition(nb::object object, std::string class_name)
      : object_(std::move(object)), class_name_(std::move(class_name)) {}

  std::string class_name() const override { return class_name_; }

  void build(const std::vector<Shape>& input_shapes) override {
    const nb::gil_scoped_acquire gil;
    object_.get().attr("_build_of_core")(shapes_object(input_shapes));
  }

  std::vector<Output> call(keras::CallContext& context, const std::vector<Output>& inputs) override {
    const nb::gil_scoped_acquire gil;
    const ContextScope scope(context);
    nb::list masks;
    for (const Output& input : inputs) masks.append(wrap(context.mask(input)));
    nb::tuple results = nb::cast<nb::tuple>(object_.get().attr("_call_of_core")(wrap(inputs), masks, context.training()));
    std::vector<Output> outputs;
    for (nb::handle result : results[0]) outputs.push_back(output_of(result));
    size_t next = 0;
    for (nb::handle mask : results[1]) {
      if (!mask.is_none()) context.set_mask(outputs.at(next), output_of(mask));
      ++next;
    }
    return outputs;
  }

  keras::MaskSupport mask_support() const override {
    const nb::gil_scoped_acquire gil;
    const nb::object kind = object_.get().attr("_mask_support")();
    const auto name = nb::cast<std::string>(kind);
    return name == "custom" ? keras::MaskSupport::custom
           : name == "pass" ? keras::MaskSupport::pass
                            : keras::MaskSupport::refuse;
  }

  std::vector<std::shared_ptr<keras::LayerDefinition>> sublayers() const override {
    const nb::gil_scoped_acquire gil;
    std::vector<std::shared_ptr<keras::LayerDefinition>> all;
    for (nb::handle layer : nb::object(object_.get().attr("_sublayers_of_core")())) {
      all.push_back(nb::cast<const keras::Layer&>(layer).definition());
    }
    return all;
  }

  keras::Json config() const override {
    const nb::gil_scoped_acquire gil;
    return json_of(nb::cast<std::string>(object_.get().attr("_config_of_core")()));
  }

  keras::WeightPtr add(const std::string& name, const Shape& shape, keras::WeightOptions options) {
    return this->add_weight(name, shape, std::move(options));
  }

 protected:
  Held object_;

 private:
  std::string class_name_;
};

using PythonLayer = PythonDefinition<keras::LayerDefinition>;

class PythonModel : public PythonDefinition<keras::ModelDefinition> {
 public:
  using PythonDefinition::PythonDefinition;
  std::vector<keras::Layer> layers() const override {
    std::vector<keras::Layer> all;
    for (const auto& definition : PythonDefinition::sublayers()) all.emplace_back(definition);
    return all;
  }
  std::vector<std::shared_ptr<keras::LayerDefinition>> sublayers() const override {
    return PythonDefinition::sublayers();
  }
};

keras::WeightPtr add_weight(keras::Layer& layer, const std::string& name, nb::handle shape, nb::handle dtype,
                            nb::object initializer, nb::object regularizer, nb::object constraint, bool trainable) {
  keras::WeightOptions options{.initializer = initializer_of(initializer), .trainable = trainable};
  if (!dtype.is_none()) options.dtype = dtype_of_object(dtype);
  if (!regularizer.is_none()) options.regularizer = tensor_function(regularizer);
  if (!constraint.is_none()) options.constraint = tensor_function(constraint);
  const Shape sizes = shape_of_object(shape);
  if (auto own = std::dynamic_pointer_cast<PythonLayer>(layer.definition())) return own->add(name, sizes, options);
  if (auto own = std::dynamic_pointer_cast<PythonModel>(layer.definition())) return own->add(name, sizes, options);
  throw nb::type_error(fmt::format("layer '{}' has the weights of its class alone", layer.name()).c_str());
}

// -- Calls on tensors of a graph.

// Weights as variables of one graph: for layers that are called on its tensors, as in a model_fn.
class GraphContext {
 public:
  explicit GraphContext(Graph& graph) : weights_([this](const keras::WeightPtr& w) { return make(w); }) {
    const GraphScope scope(graph);
    for (const bool training : {false, true}) {
      contexts_.emplace(training, std::make_unique<keras::CallContext>(training, [this](const keras::WeightPtr& w) {
                          return weights_.variable_of(w);
                        }));
    }
  }

  GraphContext(const GraphContext&) = delete;
  GraphContext& operator=(const GraphContext&) = delete;

  std::vector<Output> apply(keras::Layer& layer, const std::vector<Output>& inputs, bool training,
                            const keras::CallArguments& arguments) {
    const keras::Layer* const outer = std::exchange(layer_, &layer);
    keras::CallContext& context = *contexts_.at(training);
    const ContextScope scope(context);
    const size_t updates = context.updates().size();
    const size_t losses = context.losses().size();
    const keras::CallContext::CallScope call_scope(context, std::nullopt, arguments);
    std::vector<Output> outputs = layer.definition()->apply(context, inputs);
    layer_ = outer;
    for (size_t i = updates; i < context.updates().size(); ++i) {
      const auto& update = context.updates()[i];
      updates_.emplace_back(weights_.variable_of(update.weight).assign(update.value));
    }
    for (size_t i = losses; i < context.losses().size(); ++i) losses_.push_back(context.losses()[i]);
    return outputs;
  }

  const std::vector<Output>& updates() const { return updates_; }
  const std::vector<Output>& losses() const { return losses_; }
  Variable variable_of(const keras::WeightPtr& weight) { return weights_.variable_of(weight); }

 private:
  Variable make(const keras::WeightPtr& weight) {
    std::string name = weight->name();
    if (layer_ != nullptr) {
      const std::vector<keras::WeightPtr> all = layer_->weights();
      const std::vector<std::string> names = layer_->definition()->weight_names();
      for (size_t i = 0; i < all.size(); ++i) {
        if (all[i] == weight) name = names[i].substr(0, names[i].rfind(':'));
      }
    }
    const Output initial = weight->has_value() ? Output(constant(weight->value().clone()))
                                               : weight->options().initializer(weight->shape(), weight->type().dtype);
    return Variable(initial, VariableOptions{.name = name, .trainable = weight->trainable()});
  }

  keras::WeightBindings weights_;
  std::map<bool, std::unique_ptr<keras::CallContext>> contexts_;
  const keras::Layer* layer_ = nullptr;
  std::vector<Output> updates_;
  std::vector<Output> losses_;
};

std::vector<Output> outputs_of_list(nb::handle list) {
  std::vector<Output> all;
  for (nb::handle value : nb::borrow<nb::object>(list)) all.push_back(output_of(value));
  return all;
}

keras::KerasTensors symbolic_of(nb::handle list) {
  std::vector<keras::KerasTensor> all;
  for (nb::handle tensor : nb::borrow<nb::object>(list)) all.push_back(nb::cast<keras::KerasTensor>(tensor));
  return all;
}

nb::list symbolic_object(const keras::KerasTensors& tensors) {
  nb::list all;
  for (const keras::KerasTensor& tensor : tensors) all.append(nb::cast(tensor));
  return all;
}

std::optional<bool> flag_of(nb::handle value) {
  return value.is_none() ? std::nullopt : std::optional(nb::cast<bool>(nb::bool_(nb::borrow(value))));
}

// ([names of inputs], {flag: value}) of a call whose layer takes more than inputs.
keras::CallArguments arguments_of(nb::handle given) {
  keras::CallArguments arguments;
  if (given.is_none()) return arguments;
  const auto pair = nb::cast<nb::tuple>(given);
  for (nb::handle name : pair[0]) arguments.inputs.push_back(nb::cast<std::string>(name));
  for (const auto& [name, value] : nb::cast<nb::dict>(pair[1]))
    arguments.flags[nb::cast<std::string>(name)] = nb::cast<bool>(nb::bool_(nb::borrow(value)));
  return arguments;
}

nb::list classes() {
  nb::list all;
  for (const std::string& name : keras::layer_class_names()) {
    const keras::LayerClass& made = keras::find_layer_class(name);
    if (made.of_program) continue;
    nb::list arguments;
    for (const keras::ArgumentDoc& argument : made.arguments) {
      arguments.append(nb::make_tuple(argument.name, argument.required(),
                                      argument.required() ? nb::none() : python_of(argument.default_value)));
    }
    nb::list aliases;
    for (const std::string& alias : made.aliases) aliases.append(alias);
    const nb::tuple call = nb::make_tuple(texts_object(made.call.tensors), made.call.takes_list,
                                          texts_object(made.call.flags));
    all.append(nb::make_tuple(name, aliases, arguments, call));
  }
  return all;
}

void bind_weights(nb::module_& m) {
  nb::class_<keras::Weight>(m, "KerasWeight")
      .def_prop_ro("_name", [](const keras::Weight& w) { return w.name(); })
      .def_prop_ro("_dims", [](const keras::Weight& w) { return shape_object(w.shape()); })
      .def_prop_ro("_dtype_name", [](const keras::Weight& w) { return dtype_name(w.type().dtype); })
      .def_prop_ro("trainable", [](const keras::Weight& w) { return w.trainable(); })
      .def("_value", [](const std::shared_ptr<keras::Weight>& w) { return array_of(running([&] { return w->value().clone(); })); })
      .def("_set_value",
           [](const std::shared_ptr<keras::Weight>& w, nb::handle value) {
             const Tensor tensor = tensor_of(value, w->type().dtype);
             running([&] { w->set_value(tensor); });
           })
      .def("_in_program",
           [](const std::shared_ptr<keras::Weight>& w) {
             keras::CallContext* const context = ContextScope::current();
             if (context == nullptr) throw nb::value_error("a weight of Keras has a value as a tensor inside of call() alone");
             return building([&] { return wrap(context->value(w)); });
           })
      .def("_update", [](const std::shared_ptr<keras::Weight>& w, nb::handle value) {
        keras::CallContext* const context = ContextScope::current();
        if (context == nullptr) throw nb::value_error("add_update: expected a call of a layer");
        building([&] { context->add_update(w, output_of(value, w->type().dtype)); });
      });
  nb::class_<keras::KerasTensor>(m, "KerasTensor")
      .def_prop_ro("name", [](const keras::KerasTensor& t) { return t.name(); })
      .def_prop_ro("_dims", [](const keras::KerasTensor& t) { return shape_object(t.shape()); })
      .def_prop_ro("_dtype_name", [](const keras::KerasTensor& t) { return dtype_name(t.dtype()); })
      .def_prop_ro("_layer", [](const keras::KerasTensor& t) { return keras::Layer(t.call()->layer); })
      .def("__eq__",
           [](const keras::KerasTensor& a, nb::handle b) {
             return nb::isinstance<keras::KerasTensor>(b) && nb::cast<const keras::KerasTensor&>(b) == a;
           })
      .def("__hash__", [](const keras::KerasTensor& t) {
        return std::hash<const void*>()(t.call().get()) * 31 + static_cast<size_t>(t.index());
      });
}

void bind_layer(nb::class_<keras::Layer>& c) {
  using L = keras::Layer;
  c.def_prop_ro("id", [](const L& l) { return reinterpret_cast<uintptr_t>(l.definition().get()); })
      .def_prop_ro("name", [](const L& l) { return l.name(); })
      .def("set_name", [](const L& l, const std::string& name) { l.definition()->set_name(name); })
      .def_prop_ro("class_name", [](const L& l) { return l.class_name(); })
      .def_prop_ro("built", [](const L& l) { return l.definition()->built(); })
      .def_prop_ro("stateful", [](const L& l) { return l.definition()->stateful(); })
      .def_prop_rw("trainable", [](const L& l) { return l.trainable(); },
                   [](const L& l, bool value) { l.set_trainable(value); })
      .def("call_symbolic",
           [](const L& l, nb::handle inputs, nb::handle training, nb::handle states, nb::handle arguments) {
             return building([&] {
               return symbolic_object(l(symbolic_of(inputs), {.training = flag_of(training),
                                                              .initial_state = symbolic_of(states),
                                                              .arguments = arguments_of(arguments)}));
             });
           })
      // Inside of the call of another layer.
      .def("call_inside",
           [](const L& l, nb::handle inputs, nb::handle training, nb::handle arguments) -> nb::object {
             keras::CallContext* const context = ContextScope::current();
             if (context == nullptr) return nb::none();
             return building([&]() -> nb::object {
               const keras::CallContext::CallScope scope(*context, flag_of(training), arguments_of(arguments));
               return wrap(l.definition()->apply(*context, outputs_of_list(inputs)));
             });
           })
      .def("ensure_built",
           [](const L& l, nb::handle shapes) {
             std::vector<Shape> all;
             for (nb::handle shape : nb::borrow<nb::object>(shapes)) all.push_back(shape_of_object(shape));
             building([&] { l.definition()->ensure_built(all); });
           })
      .def("weights", [](const L& l) { return l.weights(); })
      .def("trainable_weights", [](const L& l) { return l.definition()->trainable_weights(); })
      .def("non_trainable_weights", [](const L& l) { return l.definition()->non_trainable_weights(); })
      .def("weight_names", [](const L& l) { return texts_object(l.definition()->weight_names()); })
      .def("get_weights", [](const L& l) { return arrays_object(running([&] { return l.get_weights(); })); })
      .def("set_weights",
           [](const L& l, nb::handle values) {
             const std::vector<Tensor> tensors = tensors_of_list(values);
             running([&] { l.set_weights(tensors); });
           })
      .def("set_initial_weights",
           [](const L& l, nb::handle values) { l.definition()->set_initial_weights(tensors_of_list(values)); })
      .def("reset_states",
           [](const L& l, nb::handle values) {
             const std::vector<Tensor> tensors = tensors_of_list(values);
             building([&] { l.reset_states(tensors); });
           })
      .def("count_params", [](const L& l) { return l.count_params(); })
      .def("config", [](const L& l) { return python_of(building([&] { return l.get_config(); })); })
      .def("input", [](const L& l) { return symbolic_object(building([&] { return l.input(); })); })
      .def("output", [](const L& l) { return symbolic_object(building([&] { return l.output(); })); })
      .def("input_at", [](const L& l, int i) { return symbolic_object(building([&] { return l.get_input_at(i); })); })
      .def("output_at", [](const L& l, int i) { return symbolic_object(building([&] { return l.get_output_at(i); })); })
      .def("sublayers", [](const L& l) {
        std::vector<L> all;
        for (const auto& definition : l.definition()->sublayers()) all.emplace_back(definition);
        return layers_object(all);
      });
}

void bind_graph_context(nb::module_& m) {
  nb::class_<GraphContext>(m, "KerasGraphContext")
      .def("apply",
           [](GraphContext& g, keras::Layer& layer, nb::handle inputs, bool training, nb::handle arguments) {
             return building(
                 [&] { return wrap(g.apply(layer, outputs_of_list(inputs), training, arguments_of(arguments))); });
           })
      .def("updates", [](const GraphContext& g) { return wrap(g.updates()); })
      .def("losses", [](const GraphContext& g) { return wrap(g.losses()); })
      .def("variable_of", [](GraphContext& g, const std::shared_ptr<keras::Weight>& weight) {
        return building([&] { return wrap(g.variable_of(weight)); });
      });
  m.def("keras_graph_context", [](Graph& graph) { return std::make_unique<GraphContext>(graph); });
}

}  // namespace

keras::Json json_of(const std::string& text) {
  keras::Json json = keras::Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) throw nb::value_error("got text that is no JSON");
  return json;
}

nb::object python_of(const keras::Json& json) {
  if (json.is_discarded()) return nb::none();
  static nb::object* loads = new nb::object(nb::module_::import_("json").attr("loads"));
  return (*loads)(json.dump());
}

LiveObjects::LiveObjects(nb::list objects) : previous_(live_objects), objects_(std::move(objects)) {
  live_objects = &objects_;
}
LiveObjects::~LiveObjects() { live_objects = previous_; }

nb::object LiveObjects::at(const keras::Json& config) {
  const size_t place = config.value("place", size_t{0});
  if (live_objects == nullptr || place >= live_objects->size()) {
    throw invalid_argument("a function of Python has no form in files, expected a class with a name");
  }
  return nb::object((*live_objects)[place]);
}

void register_live_objects() {
  static constexpr const char* kName = "PythonObject";
  keras::register_layer_class({.name = kName, .from_config = [](const keras::Json& config) {
                                 return nb::cast<const keras::Layer&>(LiveObjects::at(config)).definition();
                               }});
  keras::register_initializer(kName, [](const keras::Json& config) { return initializer_of(LiveObjects::at(config)); });
  keras::register_regularizer(kName, [](const keras::Json& config) { return tensor_function(LiveObjects::at(config)); });
  keras::register_constraint(kName, [](const keras::Json& config) { return tensor_function(LiveObjects::at(config)); });
}

std::function<Output(const Output&)> tensor_function(nb::object f) {
  return [held = Held(std::move(f))](const Output& x) {
    const nb::gil_scoped_acquire gil;
    return output_of(held.get()(wrap(x)), x.dtype());
  };
}

ContextScope::ContextScope(keras::CallContext& context) : previous_(std::exchange(current_context, &context)) {}
ContextScope::~ContextScope() { current_context = previous_; }
keras::CallContext* ContextScope::current() { return current_context; }

nb::list arrays_object(const std::vector<Tensor>& tensors) {
  nb::list all;
  for (const Tensor& tensor : tensors) all.append(array_of(tensor));
  return all;
}

std::vector<Tensor> tensors_of_list(nb::handle list, Keep* keep) {
  std::vector<Tensor> all;
  for (nb::handle value : nb::borrow<nb::object>(list)) all.push_back(tensor_of(value, DType::invalid, keep));
  return all;
}

nb::list layers_object(const std::vector<keras::Layer>& layers) {
  nb::list all;
  for (const keras::Layer& layer : layers) all.append(nb::cast(layer));
  return all;
}

nb::list texts_object(const std::vector<std::string>& texts) {
  nb::list all;
  for (const std::string& text : texts) all.append(text);
  return all;
}

void bind_keras_layers(nb::module_& m) {
  register_live_objects();
  bind_weights(m);
  nb::class_<keras::Layer> layer(m, "KerasLayer");
  bind_layer(layer);
  bind_graph_context(m);
  m.def("keras_layer_classes", classes);
  // A layer of a registered class. `live`: what the configuration names by place.
  m.def("keras_layer", [](const std::string& name, const std::string& config, nb::list live) {
    return building([&] {
      const LiveObjects scope(live);
      keras::Layer made(keras::find_layer_class(name).from_config(json_of(config)));
      made.definition()->set_where(WhereScope::current());
      return made;
    });
  });
  m.def("keras_python_layer", [](nb::object object, const std::string& class_name, const std::string& name) {
    auto made = std::make_shared<PythonLayer>(std::move(object), class_name);
    made->set_name(name.empty() ? keras::unique_layer_name(class_name) : name);
    return keras::Layer(made);
  });
  m.def("keras_python_model", [](nb::object object, const std::string& class_name, const std::string& name) {
    auto made = std::make_shared<PythonModel>(std::move(object), class_name);
    made->set_name(name.empty() ? keras::unique_layer_name(class_name) : name);
    return keras::Model(std::static_pointer_cast<keras::ModelDefinition>(made));
  });
  m.def("keras_add_weight", add_weight);
  m.def("keras_set_input_shape", [](keras::Layer& layer, nb::handle shape) {
    layer.definition()->set_batch_input_shape(shape_of_object(shape));
  });
  m.def("keras_lambda", [](const std::string& function_name, nb::object call, const std::string& name, nb::handle shape) {
    return building([&] {
      keras::layers::LambdaOptions options{.name = name};
      if (!shape.is_none()) options.batch_input_shape = shape_of_object(shape);
      const keras::layers::LambdaFn function = [held = Held(call)](const std::vector<Output>& inputs, const keras::Json&) {
        const nb::gil_scoped_acquire gil;
        return outputs_of_list(held.get()(wrap(inputs)));
      };
      keras::Layer made = keras::layers::Lambda(function_name, function, options);
      made.definition()->set_where(WhereScope::current());
      return made;
    });
  });
  m.def("keras_input", [](nb::handle shape, int64_t batch_size, const std::string& name, nb::handle dtype) {
    return building([&] {
      keras::InputOptions options{.batch_size = batch_size, .name = name};
      if (!dtype.is_none()) options.dtype = dtype_of_object(dtype);
      return keras::Input(shape_of_object(shape), options);
    });
  });
  m.def("keras_register_layer", [](const std::string& name, nb::object make) {
    building([&] {
      keras::register_layer_class({.name = name, .from_config = [held = Held(make)](const keras::Json& config) {
                                     const nb::gil_scoped_acquire gil;
                                     return nb::cast<const keras::Layer&>(nb::object(held.get()(python_of(config)))).definition();
                                   }});
    });
  });
  m.def("keras_clear_session", [] { keras::clear_session(); });
}

}  // namespace systole::python
