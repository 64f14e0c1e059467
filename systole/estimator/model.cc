#include "systole/estimator/model.h"

#include <algorithm>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/train/example_mask.h"

namespace systole::estimator {
namespace {

void add_names(const ElementSpec& spec, const std::string& name, Model& model) {
  if (spec.is_leaf()) model.input_names.push_back(name);
  for (size_t i = 0; !spec.is_leaf() && i < spec.size(); ++i) {
    const std::string key =
        spec.is_dict() ? fmt::format("'{}'", spec.names()[i]) : fmt::format("{}", i);
    add_names(spec[i], fmt::format("{}[{}]", name, key), model);
  }
}

Nest<Output> placeholders(const ElementSpec& spec, std::string_view name, Model& model) {
  add_names(spec, std::string(name), model);
  return spec.map([&](const TensorType& type) {
    model.inputs.push_back(placeholder(type.dtype, type.shape, name));
    return model.inputs.back();
  });
}

void add_metrics(Model& model) {
  model.metrics = model.spec.eval_metric_ops;
  if (model.spec.eval_metrics) {
    for (auto& [name, metric] : model.spec.eval_metrics()) {
      if (!model.metrics.emplace(name, metric).second) {
        throw invalid_argument(
            "metric '{}', got it in eval_metrics and in eval_metric_ops, expected it once", name);
      }
    }
  }
  TPUEstimatorSpec checked = model.spec;
  checked.eval_metric_ops = model.metrics;
  checked.validate();
  // The mean is weighted by the number of real examples of each batch.
  const NameScope scope("eval_loss");
  model.metrics["loss"] = metrics::mean({.values = cast(reduce_mean(model.spec.loss), DType::f32),
                                         .weights = reduce_sum(model.mask)});
}

// Returns a model with an empty graph.
Model empty_model(const ModelFn& model_fn) {
  if (!model_fn) throw invalid_argument("model_fn must be provided to Estimator.");
  Model model;
  model.graph = std::make_shared<Graph>();
  return model;
}

void begin(Model& model, const TraceOptions& options) {
  if (options.seed) set_random_seed(*options.seed);
  model.global_step = get_or_create_global_step();
}

// Errors: INVALID_ARGUMENT, as TensorFlow's, for a tensor that the model_fn made elsewhere.
void check_graph(const Output& output, std::string_view what) {
  if (!output.valid() || &output.graph() == &Graph::current()) return;
  throw invalid_argument(
      "{} with \"{}\" must be from the default graph. Possible causes of this error include: it "
      "was "
      "created outside the model_fn, or in an earlier call of it",
      what, output.name());
}

void check_spec(TPUEstimatorSpec& spec, Mode mode) {
  // A spec that does not set its mode has the first.
  if (spec.mode != mode && spec.mode != Mode::train) {
    throw invalid_argument(
        "TPUEstimatorSpec.mode, got {}, expected {}: the mode that the model_fn was called with",
        to_string(spec.mode), to_string(mode));
  }
  spec.mode = mode;
  check_graph(spec.loss, "loss");
  for (const Output& prediction : spec.predictions.flatten()) {
    check_graph(prediction, "prediction values");
  }
  spec.validate();
}

void call(const ModelFn& model_fn, const Nest<Output>& features, const Nest<Output>& labels,
          const TraceOptions& options, Params params, Model& model) {
  params.set("use_tpu", options.use_tpu);
  if (options.use_tpu)
    params.set("context", std::any(TPUContext(options.replicas, {}, options.hosts)));
  try {
    model.spec = model_fn(features, labels, options.mode, params);
  } catch (const Error& error) {
    if (options.mode == Mode::predict) throw;
    const auto is_scalar = [](const Output& label) { return label.shape().rank() == 0; };
    std::string hint;
    if (labels.empty()) {
      hint = fmt::format("input_fn gives features without labels: {}", features.to_string());
    } else if (std::ranges::any_of(labels.flatten(), is_scalar)) {
      hint = "input_fn gives single examples: is batch() missing?";
    }
    if (hint.empty()) throw;
    throw Error(error.code(), fmt::format("{} ({})", error.message(), hint));
  }
  check_spec(model.spec, options.mode);
}

}  // namespace

Model trace(const ModelFn& model_fn, const Input& input, const TraceOptions& options) {
  Model model = empty_model(model_fn);
  const GraphScope scope(*model.graph);
  begin(model, options);
  const Nest<Output> features = placeholders(input.features, "features", model);
  const Nest<Output> labels = placeholders(input.labels, "labels", model);
  if (options.mode != Mode::train) {
    model.mask = placeholder(DType::f32, {input.replica_batch.value_or(kUnknown)}, "example_mask");
    set_example_mask(model.mask);
  }
  Params params = options.params;
  if (input.replica_batch) params.set("batch_size", *input.replica_batch);
  call(model_fn, features, labels, options, std::move(params), model);
  if (options.mode == Mode::eval) add_metrics(model);
  return model;
}

Model trace_serving(const ModelFn& model_fn, const std::function<Nest<Output>()>& make_features,
                    const TraceOptions& options) {
  Model model = empty_model(model_fn);
  const GraphScope scope(*model.graph);
  begin(model, options);
  const Nest<Output> features = make_features();
  try {
    call(model_fn, features, {}, options, options.params, model);
  } catch (const Error& error) {
    const std::vector<Output> leaves = features.flatten();
    const SourceLocation where = leaves.empty() ? SourceLocation() : leaves[0].node()->where();
    throw Error(error.code(),
                fmt::format("{} (features of the serving_input_receiver_fn{}: {})", error.message(),
                            where.known() ? " at " + where.to_string() : "", features.to_string()));
  }
  return model;
}

}  // namespace systole::estimator
