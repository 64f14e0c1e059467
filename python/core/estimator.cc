// tf.estimator: estimators of C++ whose model_fn and input_fn are Python's.
#include "systole/estimator/estimator.h"

#include "bindings.h"
#include "hooks.h"
#include "session_handle.h"
#include "systole/keras_estimator/model_to_estimator.h"
#include "systole/train/checkpoint_utils.h"
#include "systole/train/loop/signals.h"
#include "tpu_check.h"
#include "values.h"

namespace systole::python {
namespace {

struct EstimatorHandle {
  std::shared_ptr<TPUEstimator> estimator;
};

// None where the parameters have no batch size.
nb::object batch_size_of(const Params& params) {
  return params.contains("batch_size") ? nb::cast(params["batch_size"].as<int64_t>()) : nb::none();
}

Metric metric_of(nb::handle pair) {
  Metric metric{.value = output_of(pair[0]), .update_op = output_of(pair[1])};
  nb::object kept = nb::module_::import_("systole_tpu.tensorflow._rules").attr("accumulators_of")(pair[1]);
  for (nb::handle variable : kept) metric.accumulators.push_back(variable_of(variable));
  return metric;
}

MetricMap metrics_of(nb::handle dict) {
  MetricMap metrics;
  for (auto [name, pair] : nb::borrow<nb::dict>(dict)) metrics[nb::cast<std::string>(name)] = metric_of(pair);
  return metrics;
}

// What tf.train.init_from_checkpoint named in the current graph.
std::vector<std::pair<Variable, Tensor>> restored_values() {
  std::vector<std::pair<Variable, Tensor>> values;
  nb::object restored = nb::module_::import_("systole_tpu.tensorflow._estimator").attr("restored")();
  for (nb::handle pair : restored) {
    const Variable variable = variable_of(pair[0]);
    values.emplace_back(variable, tensor_of(pair[1], variable.dtype()));
  }
  return values;
}

// Sets these values once variables have their first ones, and does what a Scaffold of Python says. `make`: a function
// that returns a Scaffold, or None.
std::function<Scaffold()> scaffold_of(nb::object make) {
  return [held = Held(make)] {
    const nb::gil_scoped_acquire gil;
    const Held scaffold(held.get().is_none() ? nb::none() : nb::object(held.get()()));
    return Scaffold{.init_fn = [scaffold, values = restored_values()](Session& session) {
      for (const auto& [variable, value] : values) session.set_variable(variable, value);
      const nb::gil_scoped_acquire locked;
      if (scaffold.get().is_none()) return;
      nb::module_::import_("systole_tpu.tensorflow._hooks").attr("initialize")(scaffold.get(), borrowed_session(session));
    }};
  };
}

// What Python's EstimatorSpec holds.
TPUEstimatorSpec spec_of(nb::handle object, Mode mode) {
  TPUEstimatorSpec spec{.mode = mode};
  const auto field = [&](const char* name) {
    return nb::hasattr(object, name) ? nb::object(object.attr(name)) : nb::none();
  };
  if (const nb::object value = field("predictions"); !value.is_none()) spec.predictions = outputs_of(value);
  if (const nb::object value = field("loss"); !value.is_none()) spec.loss = output_of(value);
  if (const nb::object value = field("train_op"); !value.is_none()) spec.train_op = operation_of(value);
  if (const nb::object value = field("eval_metric_ops"); !value.is_none()) spec.eval_metric_ops = metrics_of(value);
  if (const nb::object value = field("eval_metrics"); !value.is_none() && mode == Mode::eval) {
    std::vector<Output> tensors;
    nb::object structure = value[1];
    nb::object leaves = nb::module_::import_("systole_tpu.tensorflow._control").attr("flatten")(structure);
    for (nb::handle leaf : leaves) tensors.push_back(output_of(leaf));
    nb::object call = nb::module_::import_("systole_tpu.tensorflow._estimator").attr("call_metric_fn");
    spec.eval_metrics = EvalMetrics(
        [fn = Held(value[0]), structure = Held(structure), call = Held(call)](const std::vector<Output>& outputs) {
          const nb::gil_scoped_acquire gil;
          return metrics_of(call.get()(fn.get(), structure.get(), wrap(outputs)));
        },
        OutputList(std::move(tensors)));
  }
  if (const nb::object value = field("host_call"); !value.is_none()) spec.host_call = host_call_of(value);
  if (const nb::object value = field("export_outputs"); !value.is_none()) {
    for (auto [name, output] : nb::borrow<nb::dict>(value)) {
      spec.export_outputs[nb::cast<std::string>(name)] = outputs_of(output.attr("outputs"));
    }
  }
  spec.training_hooks = hooks_of(field("training_hooks"));
  spec.evaluation_hooks = hooks_of(field("evaluation_hooks"));
  spec.prediction_hooks = hooks_of(field("prediction_hooks"));
  if (mode == Mode::train) spec.scaffold_fn = scaffold_of(field("scaffold_fn"));
  return spec;
}

ModelFn model_fn_of(nb::object f) {
  return [held = Held(f)](const Nest<Output>& features, const Nest<Output>& labels, Mode mode, const Params& params) {
    const nb::gil_scoped_acquire gil;
    nb::object result = held.get()(outputs_object(features), labels.empty() ? nb::none() : outputs_object(labels),
                                   std::string(to_string(mode)), batch_size_of(params));
    return spec_of(result, mode);
  };
}

InputFn input_fn_of(nb::object f) {
  return [held = Held(f)](const Params& params) -> InputFnResult {
    const nb::gil_scoped_acquire gil;
    nb::object result = held.get()(batch_size_of(params));
    if (nb::isinstance<Dataset>(result)) return InputFnResult(nb::cast<Dataset>(result));
    if (PyTuple_Check(result.ptr()) && nb::len(result) == 2) {
      return InputFnResult(outputs_of(result[0]), outputs_of(result[1]));
    }
    return InputFnResult(outputs_of(result));
  };
}

std::optional<int64_t> number(nb::handle value) {
  return value.is_none() ? std::nullopt : std::optional(nb::cast<int64_t>(nb::int_(nb::borrow(value))));
}

std::string text(nb::dict options, const char* name) {
  return options.contains(name) && !nb::object(options[name]).is_none() ? nb::cast<std::string>(nb::str(options[name]))
                                                                        : std::string();
}

RunConfig config_of(nb::dict options) {
  const auto given = [&](const char* name) { return options.contains(name) && !nb::object(options[name]).is_none(); };
  RunConfig config{.master = text(options, "master"), .model_dir = text(options, "model_dir")};
  if (given("tf_random_seed")) config.tf_random_seed = number(options["tf_random_seed"]);
  if (given("save_summary_steps")) config.save_summary_steps = *number(options["save_summary_steps"]);
  if (given("save_checkpoints_steps")) config.save_checkpoints_steps = number(options["save_checkpoints_steps"]);
  if (given("save_checkpoints_secs")) config.save_checkpoints_secs = number(options["save_checkpoints_secs"]);
  if (given("keep_checkpoint_max")) config.keep_checkpoint_max = *number(options["keep_checkpoint_max"]);
  if (given("log_step_count_steps")) config.log_step_count_steps = *number(options["log_step_count_steps"]);
  if (given("iterations_per_loop")) {
    config.tpu_config.iterations_per_loop = IterationsPerLoop(*number(options["iterations_per_loop"]));
  }
  if (given("num_shards")) config.tpu_config.num_shards = number(options["num_shards"]);
  if (given("per_host_input_for_training")) {
    config.tpu_config.per_host_input_for_training =
        static_cast<InputPipelineConfig>(*number(options["per_host_input_for_training"]));
  }
  return config;
}

// A checkpoint, or a WarmStartSettings of Python.
WarmStartSettings warm_start_of(nb::handle value) {
  if (!nb::hasattr(value, "ckpt_to_initialize_from")) return nb::cast<std::string>(nb::str(value));
  WarmStartSettings settings(nb::cast<std::string>(nb::str(value.attr("ckpt_to_initialize_from"))));
  settings.vars_to_warm_start = nb::cast<std::string>(value.attr("vars_to_warm_start"));
  for (auto [name, before] : nb::dict(value.attr("var_name_to_prev_var_name"))) {
    settings.var_name_to_prev_var_name[nb::cast<std::string>(name)] = nb::cast<std::string>(before);
  }
  return settings;
}

EstimatorHandle make_estimator(nb::object model_fn, nb::dict options, nb::object warm_start) {
  TPUEstimatorOptions made{.model_fn = model_fn_of(model_fn), .config = config_of(options)};
  made.use_tpu = options.contains("use_tpu") && nb::cast<bool>(nb::bool_(nb::object(options["use_tpu"])));
  for (auto [name, member] : {std::pair("train_batch_size", &TPUEstimatorOptions::train_batch_size),
                              std::pair("eval_batch_size", &TPUEstimatorOptions::eval_batch_size),
                              std::pair("predict_batch_size", &TPUEstimatorOptions::predict_batch_size)}) {
    if (options.contains(name)) made.*member = number(options[name]);
  }
  if (!warm_start.is_none()) made.warm_start_from = warm_start_of(warm_start);
  if (options.contains("tpu")) return {std::make_shared<TPUEstimator>(std::move(made))};
  EstimatorOptions plain{.model_fn = made.model_fn, .config = made.config, .warm_start_from = made.warm_start_from};
  return {std::make_shared<Estimator>(std::move(plain))};
}

// Predictions, one after the other; None at the end.
struct Predictions {
  std::shared_ptr<TPUEstimator> estimator;
  PredictionRange range;
};

void bind_methods(nb::class_<EstimatorHandle>& c) {
  c.def("train",
        [](EstimatorHandle& e, nb::object input_fn, nb::object steps, nb::object max_steps, nb::handle hooks) {
          const InputFn input = input_fn_of(input_fn);
          const TrainOptions options{
              .steps = number(steps), .max_steps = number(max_steps), .hooks = hooks_of(hooks)};
          {
            const nb::gil_scoped_release unlocked;
            e.estimator->train(input, options);
          }
          if (const char* const signal = StopSignals::received()) raise_stopped(signal);
        })
      .def("evaluate",
           [](EstimatorHandle& e, nb::object input_fn, nb::object steps, const std::string& path, const std::string& name,
              nb::handle hooks) {
             const InputFn input = input_fn_of(input_fn);
             const EvaluateOptions options{
                 .steps = number(steps), .hooks = hooks_of(hooks), .checkpoint_path = path, .name = name};
             Evaluation evaluation;
             try {
               const nb::gil_scoped_release unlocked;
               evaluation = e.estimator->evaluate(input, options);
             } catch (const Error& error) {
               const char* const signal = StopSignals::received();
               if (error.code() == Code::cancelled && signal != nullptr) raise_stopped(signal);
               throw;
             }
             nb::dict values;
             for (const auto& [metric, value] : evaluation) values[metric.c_str()] = array_of(value);
             return values;
           })
      .def("predict",
           [](EstimatorHandle& e, nb::object input_fn, nb::list keys, const std::string& path, bool single,
              nb::handle hooks) {
             const InputFn input = input_fn_of(input_fn);
             PredictOptions options{.hooks = hooks_of(hooks), .checkpoint_path = path, .yield_single_examples = single};
             for (nb::handle key : keys) options.predict_keys.push_back(nb::cast<std::string>(key));
             const nb::gil_scoped_release unlocked;
             return Predictions{e.estimator, e.estimator->predict(input, options)};
           })
      .def("export_saved_model",
           [](EstimatorHandle& e, const std::string& folder, nb::object receiver_fn, const std::string& path) {
             const ServingInputReceiverFn receiver = [held = Held(receiver_fn)] {
               const nb::gil_scoped_acquire gil;
               nb::object result = held.get()();
               ServingInputReceiver made{.features = outputs_of(result.attr("features"))};
               for (auto [name, tensor] : nb::dict(result.attr("receiver_tensors"))) {
                 made.receiver_tensors[nb::cast<std::string>(name)] = output_of(tensor);
               }
               return made;
             };
             const nb::gil_scoped_release unlocked;
             return e.estimator->export_saved_model(folder, receiver, {.checkpoint_path = path});
           })
      .def("check",
           [](EstimatorHandle& e, nb::object input_fn, nb::dict keywords) {
             const InputFn input = input_fn_of(input_fn);
             const TPUCheckOptions options = check_options_of(keywords);
             const nb::gil_scoped_release unlocked;
             return e.estimator->check(input, options);
           })
      .def_prop_ro("model_dir", [](const EstimatorHandle& e) { return e.estimator->model_dir(); })
      .def("latest_checkpoint", [](const EstimatorHandle& e) { return e.estimator->latest_checkpoint(); })
      .def("get_variable_names",
           [](const EstimatorHandle& e) {
             nb::list names;
             for (const std::string& name : e.estimator->get_variable_names()) names.append(name);
             return names;
           })
      .def("get_variable_value",
           [](const EstimatorHandle& e, const std::string& name) { return array_of(e.estimator->get_variable_value(name)); });
}

}  // namespace

void bind_estimator(nb::module_& m) {
  nb::class_<EstimatorHandle> c(m, "Estimator");
  bind_methods(c);
  m.def("make_estimator", make_estimator);
  m.def("keras_model_to_estimator", [](const keras::Model& model, nb::dict options) {
    return building([&] {
      const keras::estimator::ModelToEstimatorOptions made{.config = config_of(options), .use_tpu = false};
      const nb::gil_scoped_release unlocked;
      return EstimatorHandle{std::make_shared<TPUEstimator>(keras::estimator::model_to_estimator(model, made))};
    });
  });
  nb::class_<Predictions>(m, "Predictions").def("next", [](Predictions& predictions) -> nb::object {
    std::optional<Nest<Tensor>> next;
    {
      const nb::gil_scoped_release unlocked;
      next = predictions.range.next();
    }
    if (!next) return nb::none();
    return nb::make_tuple(nest_object<Tensor>(*next, [](const Tensor& leaf) { return array_of(leaf); }));
  });
  m.def("list_variables", [](const std::string& path) {
    nb::list all;
    for (const auto& [name, shape] : checkpoint_utils::list_variables(path)) {
      all.append(nb::make_tuple(name, nb::list(shape_object(shape))));
    }
    return all;
  });
  m.def("load_variable", [](const std::string& path, const std::string& name) {
    return array_of(checkpoint_utils::load_variable(path, name));
  });
}

}  // namespace systole::python
