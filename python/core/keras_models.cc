// Models of Keras: compile, fit, evaluate, predict, files.
#include "bindings.h"
#include "keras.h"
#include "rules.h"
#include "systole/keras/fit/interruption.h"
#include "systole/keras_estimator/check_model.h"
#include "tpu_check.h"

namespace systole::python {
namespace {

using keras::Arrays;
using keras::Model;

// A name, {"class_name": ..., "config": ...} as text, or a function of Python; none for None.
keras::LossSpec loss_of(nb::handle value) {
  if (value.is_none()) return {};
  if (!PyUnicode_Check(value.ptr())) return loss_function(nb::borrow(value));
  return keras_loss_of(nb::cast<std::string>(value));
}

// A name, {"class_name": ..., "config": ...} as text, or (name, function).
keras::MetricSpec metric_of(nb::handle value) {
  if (PyTuple_Check(value.ptr())) {
    return {nb::cast<std::string>(value[0]), loss_function(nb::object(value[1]))};
  }
  return keras_metric_of(nb::cast<std::string>(value));
}

std::vector<keras::MetricSpec> metrics_of(nb::handle list) {
  std::vector<keras::MetricSpec> all;
  for (nb::handle value : nb::borrow<nb::object>(list)) all.push_back(metric_of(value));
  return all;
}

template <class T, class F>
keras::PerOutput<T> per_output(nb::handle value, F one) {
  if (value.is_none()) return {};
  if (PyDict_Check(value.ptr())) {
    std::map<std::string, T> named;
    for (auto [name, item] : nb::borrow<nb::dict>(value)) named.emplace(nb::cast<std::string>(name), one(item));
    return keras::PerOutput<T>(std::move(named));
  }
  if (PyList_Check(value.ptr()) || PyTuple_Check(value.ptr())) {
    std::vector<T> list;
    for (nb::handle item : nb::borrow<nb::object>(value)) list.push_back(one(item));
    return keras::PerOutput<T>(std::move(list));
  }
  return keras::PerOutput<T>(one(value));
}

double number_of(nb::handle value) { return nb::cast<double>(nb::float_(nb::borrow(value))); }

void compile(const Model& model, const KerasOptimizerHandle& optimizer, nb::handle loss, nb::handle metrics,
             nb::dict output_metrics, nb::handle loss_weights, nb::handle weighted, nb::handle weight_mode) {
  keras::CompileOptions options{.optimizer = optimizer.optimizer};
  building([&] {
    options.loss = per_output<keras::LossSpec>(loss, loss_of);
    options.metrics = metrics_of(metrics);
    for (auto [name, list] : output_metrics) options.output_metrics[nb::cast<std::string>(name)] = metrics_of(list);
    options.loss_weights = per_output<double>(loss_weights, number_of);
    options.weighted_metrics = metrics_of(weighted);
    options.sample_weight_mode = per_output<std::string>(weight_mode, [](nb::handle text) {
      return text.is_none() ? std::string() : nb::cast<std::string>(text);
    });
  });
  running([&] { model.compile(std::move(options)); });
}

// -- What fit() and its kin read: ("arrays", x, y, weights), ("generator", next), ("sequence", object), ("dataset", made).

Arrays arrays_of(nb::handle parts, Keep* keep) {
  return {tensors_of_list(parts[0], keep), tensors_of_list(parts[1], keep), tensors_of_list(parts[2], keep)};
}

class PythonSequence : public keras::Sequence {
 public:
  explicit PythonSequence(nb::object object) : object_(std::move(object)) {}
  int64_t size() const override {
    const nb::gil_scoped_acquire gil;
    return static_cast<int64_t>(nb::len(object_.get()));
  }
  Arrays get(int64_t index) override {
    const nb::gil_scoped_acquire gil;
    return arrays_of(object_.get().attr("_arrays_of_core")(index), nullptr);
  }
  void on_epoch_end() override {
    const nb::gil_scoped_acquire gil;
    object_.get().attr("on_epoch_end")();
  }

 private:
  Held object_;
};

keras::FitInput fit_input(nb::handle value, Keep& keep) {
  const auto kind = nb::cast<std::string>(value[0]);
  if (kind == "arrays") return arrays_of(value[1], &keep);
  if (kind == "dataset") return nb::cast<Dataset>(nb::object(value[1]));
  if (kind == "images") return nb::cast<std::shared_ptr<keras::preprocessing::image::ImageIterator>>(nb::object(value[1]));
  if (kind == "sequence") return std::make_shared<PythonSequence>(nb::object(value[1]));
  return [next = Held(nb::object(value[1]))]() -> std::optional<Arrays> {
    const nb::gil_scoped_acquire gil;
    const nb::object batch = next.get()();
    if (batch.is_none()) return std::nullopt;
    return arrays_of(batch, nullptr);
  };
}

std::optional<int64_t> count_of(nb::handle value) {
  return value.is_none() ? std::nullopt : std::optional(nb::cast<int64_t>(nb::int_(nb::borrow(value))));
}

std::map<int64_t, double> class_weights_of(nb::handle value) {
  std::map<int64_t, double> all;
  if (value.is_none()) return all;
  for (auto [key, weight] : nb::borrow<nb::dict>(value)) all[nb::cast<int64_t>(nb::int_(nb::borrow(key)))] = number_of(weight);
  return all;
}

std::vector<keras::CallbackPtr> callbacks_of(nb::handle list) {
  std::vector<keras::CallbackPtr> all;
  for (nb::handle callback : nb::borrow<nb::object>(list)) all.push_back(nb::cast<const KerasCallbackHandle&>(callback).callback);
  return all;
}

keras::Shuffle shuffle_of(nb::handle value) {
  if (PyUnicode_Check(value.ptr())) return {nb::cast<std::string>(value).c_str()};
  return {nb::cast<bool>(nb::bool_(nb::borrow(value)))};
}

nb::tuple fit(const Model& model, nb::handle input, nb::dict given) {
  Keep keep;
  keras::FitOptions options{.batch_size = nb::cast<int64_t>(given["batch_size"]),
                            .epochs = nb::cast<int64_t>(given["epochs"]),
                            .verbose = nb::cast<int>(given["verbose"]),
                            .callbacks = callbacks_of(given["callbacks"]),
                            .validation_split = number_of(given["validation_split"]),
                            .shuffle = shuffle_of(given["shuffle"]),
                            .class_weight = class_weights_of(given["class_weight"]),
                            .initial_epoch = nb::cast<int64_t>(given["initial_epoch"]),
                            .steps_per_epoch = count_of(given["steps_per_epoch"]),
                            .validation_steps = count_of(given["validation_steps"]),
                            .hang_timeout_secs = 0};
  if (const nb::object data = given["validation_data"]; !data.is_none()) options.validation_data = fit_input(data, keep);
  const keras::FitInput read = fit_input(input, keep);
  const PythonOutput output;
  const keras::InterruptionsAreThrown thrown;
  const keras::History history = running([&] { return model.fit(read, options); });
  if (!history.stopped_by.empty()) raise_stopped(history.stopped_by);
  nb::list epochs;
  for (const int64_t epoch : history.epoch) epochs.append(epoch);
  nb::dict values;
  for (const auto& [name, list] : history.history) values[name.c_str()] = nb::cast(list);
  return nb::make_tuple(epochs, values);
}

nb::list scores_object(const keras::Scores& scores) { return nb::list(nb::cast(scores.values)); }

CheckReport check_model(const Model& model, nb::handle parts, int64_t batch_size, nb::dict keywords) {
  Keep keep;
  const Arrays arrays = arrays_of(parts, &keep);
  const TPUCheckOptions options = check_options_of(keywords);
  return running([&] {
    return keras::estimator::check(model, arrays.x, arrays.y,
                                   {.batch_size = batch_size,
                                    .compile = options.compile,
                                    .tpu_library = options.tpu_library,
                                    .low_effort = options.low_effort,
                                    .max_seconds = options.max_seconds,
                                    .save = options.save});
  });
}

void bind_training(nb::class_<Model, keras::Layer>& c) {
  c.def("compile", compile)
      .def("is_compiled", [](const Model& m) { return m.model()->trainer != nullptr; })
      .def("optimizer", [](const Model& m) { return KerasOptimizerHandle{building([&] { return m.optimizer(); })}; })
      .def("metrics_names", [](const Model& m) { return texts_object(building([&] { return m.metrics_names(); })); })
      .def("fit", fit)
      .def("evaluate",
           [](const Model& m, nb::handle input, int64_t batch_size, int verbose, nb::handle steps) {
             Keep keep;
             const keras::FitInput read = fit_input(input, keep);
             const keras::EvaluateOptions options{
                 .batch_size = batch_size, .verbose = verbose, .steps = count_of(steps), .hang_timeout_secs = 0};
             const PythonOutput output;
             return scores_object(running([&] { return m.evaluate(read, options); }));
           })
      .def("predict",
           [](const Model& m, nb::handle input, int64_t batch_size, int verbose, nb::handle steps) {
             Keep keep;
             const keras::FitInput read = fit_input(input, keep);
             const keras::PredictOptions options{
                 .batch_size = batch_size, .verbose = verbose, .steps = count_of(steps), .hang_timeout_secs = 0};
             const PythonOutput output;
             return arrays_object(running([&] {
               if (const Arrays* arrays = read.arrays()) return m.predict_all(arrays->x, options);
               return m.predict_all_generator(read, options);
             }));
           })
      .def("train_on_batch",
           [](const Model& m, nb::handle parts, nb::handle class_weight) {
             Keep keep;
             const Arrays arrays = arrays_of(parts, &keep);
             const std::map<int64_t, double> weights = class_weights_of(class_weight);
             return scores_object(
                 running([&] { return m.train_on_batch(arrays.x, arrays.y, arrays.sample_weights, weights); }));
           })
      .def("test_on_batch", [](const Model& m, nb::handle parts) {
        Keep keep;
        const Arrays arrays = arrays_of(parts, &keep);
        return scores_object(running([&] { return m.test_on_batch(arrays.x, arrays.y, arrays.sample_weights); }));
      })
      .def("check", check_model);
}

void bind_files(nb::class_<Model, keras::Layer>& c) {
  c.def("to_json", [](const Model& m) { return building([&] { return m.to_json(); }); })
      .def("save",
           [](const Model& m, const std::string& path, bool overwrite, bool with_optimizer) {
             running([&] { m.save(path, {.overwrite = overwrite, .include_optimizer = with_optimizer}); });
           })
      .def("save_weights",
           [](const Model& m, const std::string& path, bool overwrite, const std::string& format) {
             running([&] { m.save_weights(path, {.overwrite = overwrite, .save_format = format}); });
           })
      .def("load_weights", [](const Model& m, const std::string& path, bool by_name, bool skip) {
        return running([&] { return m.load_weights(path, {.by_name = by_name, .skip_mismatch = skip}).to_string(); });
      });
}

void bind_structure(nb::class_<Model, keras::Layer>& c) {
  c.def("layers", [](const Model& m) { return layers_object(m.layers()); })
      .def("inputs", [](const Model& m) { return nb::cast(building([&] { return m.inputs().all(); })); })
      .def("outputs", [](const Model& m) { return nb::cast(building([&] { return m.outputs().all(); })); })
      .def("input_names", [](const Model& m) { return texts_object(m.input_names()); })
      .def("output_names", [](const Model& m) { return texts_object(m.output_names()); })
      .def("is_graph_network", [](const Model& m) { return m.model()->is_graph_network(); })
      .def("add", [](const Model& m, const keras::Layer& layer) {
        building([&] { keras::Sequential(std::dynamic_pointer_cast<keras::SequentialDefinition>(m.model())).add(layer); });
      })
      .def("pop", [](const Model& m) {
        building([&] { keras::Sequential(std::dynamic_pointer_cast<keras::SequentialDefinition>(m.model())).pop(); });
      })
      .def("add_loss",
           [](const Model& m, const std::vector<keras::KerasTensor>& losses) { building([&] { m.add_loss(losses); }); })
      .def("summary", [](const Model& m, nb::object print) {
        building([&] { m.summary([&](const std::string& line) { print(line); }); });
      });
}

void bind_makers(nb::module_& m) {
  m.def("keras_model", [](const std::vector<keras::KerasTensor>& inputs, const std::vector<keras::KerasTensor>& outputs,
                          const std::string& name) {
    return building([&] { return Model(inputs, outputs, {.name = name}); });
  });
  m.def("keras_sequential", [](const std::string& name) { return Model(keras::Sequential({.name = name})); });
  m.def("keras_load_model", [](const std::string& path, bool compile) {
    return running([&] { return keras::load_model(path, {.compile = compile}); });
  });
  m.def("keras_model_from_json", [](const std::string& text) {
    return building([&] { return keras::model_from_json(text); });
  });
  m.def("keras_clone_model", [](const Model& model) { return building([&] { return keras::clone_model(model); }); });
}

void bind_tpu(nb::module_& m) {
  using keras::tpu::TPUDistributionStrategy;
  nb::class_<keras::tpu::KerasTPUModel, Model>(m, "KerasTPUModel")
      .def("sync_to_cpu", [](const keras::tpu::KerasTPUModel& t) { return running([&] { return t.sync_to_cpu(); }); })
      .def_prop_ro("num_cores", [](const keras::tpu::KerasTPUModel& t) { return t.num_cores(); });
  m.def("keras_to_tpu_model", [](const Model& model, const std::string& tpu, bool single_core) {
    return running([&] {
      const TPUDistributionStrategy strategy(TPUClusterResolver(TPUClusterResolverOptions{.tpu = tpu}),
                                             {.using_single_core = single_core});
      return keras::tpu::keras_to_tpu_model(model, {.strategy = strategy});
    });
  });
}

}  // namespace

void bind_keras_models(nb::module_& m) {
  nb::class_<Model, keras::Layer> model(m, "KerasModel");
  bind_training(model);
  bind_files(model);
  bind_structure(model);
  bind_makers(m);
  bind_tpu(m);
}

}  // namespace systole::python
