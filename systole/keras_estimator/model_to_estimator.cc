#include "systole/keras_estimator/model_to_estimator.h"

#include <utility>

#include "systole/base/error.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/control_flow_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/keras/base/counters.h"
#include "systole/keras/engine/weight_paths.h"
#include "systole/keras/training/step_values.h"
#include "systole/keras/training/train_op.h"
#include "systole/train/example_mask.h"
#include "systole/train/replicas.h"

namespace systole::keras::estimator {
namespace {

// The parts of features or labels in the model's order, of these types; vectors get an axis.
std::vector<Output> ordered(const Nest<Output>& part, const std::vector<std::string>& names,
                            const std::vector<TensorType>& types, std::string_view what) {
  std::vector<Output> outputs;
  if (part.is_dict()) {
    for (const std::string& name : names) outputs.push_back(part[name].leaf());
  } else {
    outputs = part.flatten();
  }
  if (outputs.size() != names.size()) {
    throw invalid_argument("model_to_estimator: {}, got {} tensors, expected {} of the model", what,
                           outputs.size(), names.size());
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const bool column = outputs[i].shape().rank() == 1 && types[i].shape.rank() == 2;
    if (column) outputs[i] = expand_dims(outputs[i], -1);
    if (outputs[i].dtype() != types[i].dtype) outputs[i] = cast(outputs[i], types[i].dtype);
  }
  return outputs;
}

class ModelFunction {
 public:
  explicit ModelFunction(const Model& model)
      : model_(model.model()),
        options_(model.trainer().options()),
        trainable_(model.trainer().trainable()) {}

  TPUEstimatorSpec operator()(const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                              const Params& params) const {
    const auto weights = std::make_shared<WeightBindings>(
        bind_weights([model = model_.get()] { return weight_paths(*model); }));
    CallContext context(mode == Mode::train,
                        [&](const WeightPtr& weight) { return weights->variable_of(weight); });
    if (trainable_) context.set_trainable_layers(trainable_->layers);
    const std::vector<Output> x =
        ordered(features, model_->input_names(), model_->input_types(), "features");
    const std::vector<Output> outputs = model_->apply(context, x);
    const std::vector<std::string> names = model_->output_names();
    TPUEstimatorSpec spec{.mode = mode};
    std::vector<Nest<Output>::Entry> predictions;
    for (size_t i = 0; i < names.size(); ++i) predictions.emplace_back(names[i], outputs[i]);
    spec.predictions = Nest<Output>::dict(std::move(predictions));
    // The model outlives the graph in `weights`.
    spec.scaffold_fn = [weights, model = model_] {
      return Scaffold{.init_fn = [weights](Session& session) { weights->set_values(session); }};
    };
    if (mode == Mode::predict) return spec;
    add_loss(spec, context, outputs, labels, params);
    if (mode == Mode::train) spec.train_op = train_op(context, *weights, spec.loss);
    spec.loss = replica_sum(spec.loss);
    return spec;
  }

 private:
  void add_loss(TPUEstimatorSpec& spec, CallContext& context, const std::vector<Output>& outputs,
                const Nest<Output>& labels, const Params& params) const {
    std::vector<TensorType> types;
    for (const Output& output : outputs) types.push_back({DType::f32, output.shape()});
    const std::vector<Output> targets = ordered(labels, model_->output_names(), types, "labels");
    const Output batch = slice_of_batch(outputs[0]);
    const Output mask = example_mask().value_or(ones_like(batch));
    const int64_t replicas =
        params.contains("context") ? params["context"].as<TPUContext>().num_replicas() : 1;
    const StepValues values = make_step_values(
        *model_, options_, context,
        {.outputs = outputs, .targets = targets, .sample_weights = {}, .example_mask = mask},
        replicas);
    spec.loss = values.loss();
    if (spec.mode != Mode::eval) return;
    const Output examples = reduce_sum(mask);
    for (size_t i = 1; i < values.names.size(); ++i) {
      spec.eval_metric_ops[values.names[i]] =
          systole::metrics::mean({.values = replica_sum(values.values[i]), .weights = examples});
    }
  }

  // f32 [batch], of any values that are numbers.
  static Output slice_of_batch(const Output& output) {
    Output result = cast(output, DType::f32);
    while (result.shape().rank() > 1) result = reduce_mean(result, {.axis = -1});
    return result;
  }

  Operation train_op(CallContext& context, WeightBindings& weights, const Output& loss) const {
    StepEffects effects =
        build_train_op(context, weights, *model_, options_.optimizer,
                       trainable_ ? trainable_->weights : model_->trainable_weights(), loss);
    effects.operations.emplace_back(get_global_step().assign_add(int64_t{1}));
    return group(effects.operations);
  }

  std::shared_ptr<ModelDefinition> model_;
  CompileOptions options_;
  std::shared_ptr<const CollectedTrainable> trainable_;
};

}  // namespace

TPUEstimator model_to_estimator(const Model& model, const ModelToEstimatorOptions& options) {
  if (!model.model()->trainer || model.model()->trainer->options().loss.empty() ||
      !model.model()->trainer->options().optimizer) {
    throw failed_precondition(
        "The given keras model has not been compiled yet. Please compile first before calling "
        "`model_to_estimator`.");
  }
  if (!model.model()->is_graph_network()) {
    throw invalid_argument(
        "model_to_estimator: model '{}' is a subclass, expected a Sequential or "
        "functional model",
        model.name());
  }
  return TPUEstimator({.model_fn = ModelFunction(model),
                       .model_dir = options.model_dir,
                       .config = options.config,
                       .params = options.params,
                       .use_tpu = options.use_tpu,
                       .train_batch_size = options.train_batch_size,
                       .eval_batch_size = options.eval_batch_size,
                       .predict_batch_size = options.predict_batch_size});
}

}  // namespace systole::keras::estimator
