// compile(), fit(), evaluate() and predict() of models.
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "systole/base/error.h"
#include "systole/base/log.h"
#include "systole/base/suggest.h"
#include "systole/graph/api/array_ops.h"
#include "systole/keras/base/counters.h"
#include "systole/keras/fit/fit.h"
#include "systole/keras/fit/interruption.h"
#include "systole/keras/models/model.h"
#include "systole/keras/training/step_values.h"
#include "systole/train/loop/signals.h"

namespace systole::keras {
namespace {

// Names in a dict of outputs must be outputs.
template <class Names>
void check_output_names(std::string_view what, const Names& given,
                        const std::vector<std::string>& outputs) {
  for (const auto& name : given) {
    if (std::ranges::find(outputs, name) != outputs.end()) continue;
    throw invalid_argument(
        "Unknown entry in {} dictionary: \"{}\". Only expected the following keys: {}{}", what,
        name, fmt::join(outputs, ", "), did_you_mean(name, outputs));
  }
}

void check_metric_name(const MetricSpec& metric) {
  if (metric.has_function()) return;
  const std::vector<std::string> known = metric_names();
  if (std::ranges::find(known, metric.name()) != known.end()) return;
  throw not_found("Unknown metric function:{}{}", metric.name(),
                  did_you_mean(metric.name(), known));
}

void check_sample_weight_mode(const std::string& mode) {
  if (mode.empty() || mode == "temporal") return;
  throw invalid_argument(
      "sample_weight_mode, got '{}', expected \"temporal\", or \"\" for weights of examples", mode);
}

// As PerOutput::of(). Errors name the option.
template <class T>
std::optional<T> value_of_output(const char* what, const PerOutput<T>& values, size_t i,
                                 const std::vector<std::string>& outputs) {
  try {
    return values.of(i, outputs.size(), outputs[i]);
  } catch (const Error& error) {
    throw invalid_argument("compile: {}, {} ({})", what, error.message(), fmt::join(outputs, ", "));
  }
}

void check_compile_options(const ModelDefinition& model, const CompileOptions& options) {
  for (const std::string& mode : options.sample_weight_mode.list()) check_sample_weight_mode(mode);
  for (const auto& [output, mode] : options.sample_weight_mode.named()) {
    check_sample_weight_mode(mode);
  }
  for (const MetricSpec& metric : options.metrics) check_metric_name(metric);
  for (const MetricSpec& metric : options.weighted_metrics) check_metric_name(metric);
  for (const auto& [output, metrics] : options.output_metrics) {
    for (const MetricSpec& metric : metrics) check_metric_name(metric);
  }
  // A Sequential model without an input shape has no output yet.
  if (!model.is_graph_network() || model.input_types().empty()) return;
  const std::vector<std::string> outputs = model.output_names();
  check_output_names("loss", options.loss.names(), outputs);
  check_output_names("loss_weights", options.loss_weights.names(), outputs);
  check_output_names("sample_weight_mode", options.sample_weight_mode.names(), outputs);
  std::vector<std::string> of_metrics;
  for (const auto& [output, metrics] : options.output_metrics) of_metrics.push_back(output);
  check_output_names("metrics", of_metrics, outputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::optional<LossSpec> loss = value_of_output("loss", options.loss, i, outputs);
    value_of_output("loss_weights", options.loss_weights, i, outputs);
    if (options.loss.names().empty() || loss) continue;
    log_warning(
        "Output \"{}\" missing from loss dictionary. We assume this was done on purpose: it is not "
        "trained, and what its target holds does not matter.",
        outputs[i]);
  }
}

Shape with_known_batch(Shape shape) {
  if (shape[0] < 0) shape.set_dim(0, 1);
  return shape;
}

std::shared_ptr<Trainer> checked(std::shared_ptr<Trainer> trainer) {
  const CompileOptions& options = trainer->options();
  // Without a loss: add_loss() may have added one.
  if (!options.loss.empty() || options.optimizer) return trainer;
  throw failed_precondition("You must compile your model before using it.");
}

// Makes sources for a model and keeps what they read.
class Inputs {
 public:
  // `compiled`: null to take inputs alone.
  Inputs(ModelDefinition& model, const CompileOptions* compiled)
      : model_(model), compiled_(compiled) {}

  Arrays prepare(const Arrays& arrays) const { return prepare_arrays(model_, arrays, compiled_); }

  BatchSource& add(Arrays prepared, SourceOptions options) {
    options.batch_size = batch_size_for(model_, options.batch_size);
    check_batch_size(model_, options.batch_size, prepared.examples());
    arrays_.push_back(std::make_unique<Arrays>(std::move(prepared)));
    sources_.push_back(array_source(*arrays_.back(), options));
    return *sources_.back();
  }
  BatchSource& add(const FitInput& input, SourceOptions options,
                   const std::map<int64_t, double>& class_weight = {}) {
    if (const Arrays* const arrays = input.arrays()) {
      Arrays prepared = prepare(*arrays);
      apply_class_weight(prepared, class_weight, model_.output_names());
      return add(std::move(prepared), std::move(options));
    }
    options.split = [this](const Nest<Tensor>& element) {
      return arrays_of_element(model_, element);
    };
    options.prepare = [this, class_weight](const Arrays& batch) {
      Arrays prepared = prepare(batch);
      if (!class_weight.empty()) apply_class_weight(prepared, class_weight, model_.output_names());
      return prepared;
    };
    sources_.push_back(stream_source(input, std::move(options)));
    return *sources_.back();
  }

 private:
  ModelDefinition& model_;
  const CompileOptions* compiled_;
  std::vector<std::unique_ptr<Arrays>> arrays_;
  std::vector<std::unique_ptr<BatchSource>> sources_;
};

// The seed of the first process.
uint64_t seed_of_all(uint64_t own) {
  runtime::ProcessGroup* const processes = Trainer::processes(Phase::train);
  if (processes == nullptr || processes->size() == 1) return own;
  return std::stoull(processes->broadcast(std::to_string(own)));
}

// Whether this process draws bars: of several, the first.
bool reports(Phase phase) {
  const runtime::ProcessGroup* const processes = Trainer::processes(phase);
  return processes == nullptr || processes->rank() == 0;
}

void check_not_cancelled(std::string_view what) {
  const char* const signal = StopSignals::received();
  if (signal == nullptr) return;
  throw make_error(Code::cancelled, "{}: stopped by {}", what, signal);
}

// The names that a step will report, from building it in a graph that is thrown away.
std::vector<std::string> names_of_values(ModelDefinition& model, const CompileOptions& options) {
  const UserGraphScope user_graph;
  Graph scratch;
  const GraphScope scope(scratch);
  CallContext context(/*training=*/false, nullptr);
  std::vector<Output> x;
  for (const TensorType& type : model.input_types()) {
    x.push_back(placeholder(type.dtype, with_known_batch(type.shape)));
  }
  StepTensors tensors{.outputs = model.apply(context, x)};
  const std::vector<std::string> outputs = model.output_names();
  for (size_t i = 0; i < tensors.outputs.size(); ++i) {
    const std::optional<LossSpec> loss = options.loss.of(i, outputs.size(), outputs.at(i));
    Dims target = tensors.outputs[i].shape().dims();
    if (loss && loss->sparse() && !target.empty()) target.back() = 1;
    tensors.targets.push_back(placeholder(DType::f32, Shape(std::move(target))));
  }
  tensors.example_mask = placeholder(DType::f32, {x.at(0).shape()[0]});
  return make_step_values(model, options, context, tensors, 1).names;
}

Tensor only_output(std::vector<Tensor> outputs) {
  if (outputs.size() != 1) {
    throw invalid_argument("predict: the model has {} outputs, expected one: use predict_all()",
                           outputs.size());
  }
  return std::move(outputs[0]);
}

Scores scores_of(const Trainer& trainer, const BatchResult& result) {
  Scores scores{.names = trainer.metrics_names(), .values = {}};
  const std::span<const float> values = result.results[0].data<float>();
  for (size_t i = 0; i < scores.names.size(); ++i) {
    scores.values.push_back(static_cast<double>(values[i]));
  }
  return scores;
}

}  // namespace

Model::Model(const Model& model, Placement placement)
    : Layer(model), placement_(std::move(placement)) {}

std::shared_ptr<Trainer> Model::trainer_or_bare() const {
  ModelDefinition& definition = *model();
  if (!definition.trainer) {
    definition.trainer = std::make_shared<Trainer>(definition, CompileOptions{}, Placement{});
  }
  if (!placement_) return definition.trainer;
  const std::string key = fmt::format("{} {}", placement_->target, placement_->replicas);
  std::shared_ptr<Trainer>& placed = definition.placed_trainers[key];
  if (!placed) {
    placed = std::make_shared<Trainer>(definition, definition.trainer->options(), *placement_,
                                       definition.trainer->trainable());
  }
  return placed;
}

Trainer& Model::trainer() const { return *checked(trainer_or_bare()); }

void Model::compile(CompileOptions options) const {
  check_compile_options(*model(), options);
  if (options.optimizer) options.optimizer = options.optimizer.for_model(model());
  const Placement placement = model()->trainer ? model()->trainer->placement() : Placement{};
  model()->placed_trainers.clear();
  model()->trainer = std::make_shared<Trainer>(*model(), std::move(options), placement,
                                               collect_trainable(*model()));
}

void Model::place(Placement placement) const {
  CompileOptions options = model()->trainer ? model()->trainer->options() : CompileOptions{};
  auto trainable = model()->trainer ? model()->trainer->trainable() : nullptr;
  model()->trainer = std::make_shared<Trainer>(*model(), std::move(options), std::move(placement),
                                               std::move(trainable));
}

OptimizerSpec Model::optimizer() const {
  // The options do not depend on the placement.
  if (!model()->trainer || !model()->trainer->options().optimizer) {
    throw make_error(Code::failed_precondition, "You must compile your model before using it.");
  }
  return model()->trainer->options().optimizer;
}

std::vector<std::string> Model::metrics_names() const {
  const Trainer& own = trainer();
  if (!own.metrics_names().empty() || model()->input_types().empty()) return own.metrics_names();
  return names_of_values(*model(), own.options());
}

History Model::fit(const ArrayList& x, const ArrayList& y, const FitOptions& options) const {
  return fit(Arrays{x.all(), y.all(), options.sample_weight.all()}, options);
}

History Model::fit(const FitInput& input, const FitOptions& options) const {
  if (options.epochs < 0 || options.initial_epoch < 0) {
    throw invalid_argument("fit: epochs and initial_epoch, got {} and {}, expected at least 0",
                           options.epochs, options.initial_epoch);
  }
  const std::shared_ptr<Trainer> own = checked(trainer_or_bare());
  const auto inputs = std::make_shared<Inputs>(*model(), &own->options());
  const bool arrays = input.arrays() != nullptr;
  const auto seed = static_cast<uint64_t>(options.shuffle ? next_seed() : 0);
  SourceOptions train{.batch_size = options.batch_size,
                      .shuffle = options.shuffle,
                      .seed = seed_of_all(seed),
                      .steps = options.steps_per_epoch,
                      .who = "fit"};
  SourceOptions held_out{
      .batch_size = options.batch_size, .steps = options.validation_steps, .who = "fit validation"};
  if (!arrays && (options.validation_split != 0 || !options.sample_weight.empty())) {
    throw invalid_argument(
        "fit: `validation_split` and `sample_weight` are for arrays, got a generator, a Sequence "
        "or a Dataset, expected validation_data, and weights in the batches");
  }
  FitRunOptions run{.model = *this,
                    .trainer = own,
                    .inputs = inputs,
                    .options = options,
                    .counts_examples = arrays};
  if (arrays && !options.validation_data && options.validation_split != 0) {
    auto [rows, tail] = split_arrays(inputs->prepare(*input.arrays()), options.validation_split);
    warn_of_missing_classes(rows, tail, own->options(), model()->output_names());
    apply_class_weight(rows, options.class_weight, model()->output_names());
    run.train = &inputs->add(std::move(rows), std::move(train));
    run.validation = &inputs->add(std::move(tail), std::move(held_out));
  } else {
    run.train = &inputs->add(input, std::move(train), options.class_weight);
    if (options.validation_data) {
      run.validation = &inputs->add(*options.validation_data, std::move(held_out));
    }
  }
  return run_fit(std::move(run));
}

Scores Model::evaluate(const ArrayList& x, const ArrayList& y,
                       const EvaluateOptions& options) const {
  return evaluate(Arrays{x.all(), y.all(), options.sample_weight.all()}, options);
}

Scores Model::evaluate(const FitInput& input, const EvaluateOptions& options) const {
  const StopSignals signals("ends evaluate()");
  const std::shared_ptr<Trainer> own = checked(trainer_or_bare());
  const auto inputs = std::make_shared<Inputs>(*model(), &own->options());
  BatchSource& source = inputs->add(
      input, {.batch_size = options.batch_size, .steps = options.steps, .who = "evaluate"});
  const auto feed = std::make_shared<BatchFeed>(source, *own, Phase::test, 0);
  const auto scores = std::make_shared<std::optional<Scores>>();
  const bool arrays = input.arrays() != nullptr;
  const int verbose = reports(Phase::test) ? options.verbose : 0;
  run_watched_in_graph(
      options.hang_timeout_secs, "EvaluateOptions.hang_timeout_secs",
      [model = *this, own, inputs, feed, scores, verbose, arrays](train::Heartbeat& heartbeat) {
        *scores = run_evaluate(*own, *feed, heartbeat, verbose, arrays);
      });
  check_not_cancelled("evaluate");
  if (!*scores) throw make_error(Code::cancelled, "evaluate: stopped by a signal");
  return *std::move(*scores);
}

std::vector<Tensor> Model::predict_all_generator(const FitInput& input,
                                                 const PredictOptions& options) const {
  const StopSignals signals("ends predict()");
  const std::shared_ptr<Trainer> own = trainer_or_bare();
  const auto inputs = std::make_shared<Inputs>(*model(), nullptr);
  BatchSource& source = inputs->add(
      input, {.batch_size = options.batch_size, .steps = options.steps, .who = "predict"});
  const auto feed = std::make_shared<BatchFeed>(source, *own, Phase::predict, 0);
  const auto outputs = std::make_shared<std::vector<Tensor>>();
  const bool arrays = input.arrays() != nullptr;
  run_watched_in_graph(options.hang_timeout_secs, "PredictOptions.hang_timeout_secs",
                       [model = *this, own, inputs, feed, outputs, verbose = options.verbose,
                        arrays](train::Heartbeat& heartbeat) {
                         *outputs = run_predict(*own, *feed, heartbeat, verbose, arrays);
                       });
  check_not_cancelled("predict");
  return std::move(*outputs);
}

std::vector<Tensor> Model::predict_all(const ArrayList& x, const PredictOptions& options) const {
  return predict_all_generator(Arrays{x.all(), {}, {}}, options);
}

Tensor Model::predict(const ArrayList& x, const PredictOptions& options) const {
  return only_output(predict_all(x, options));
}

Tensor Model::predict_generator(const FitInput& input, const PredictOptions& options) const {
  return only_output(predict_all_generator(input, options));
}

Scores Model::train_on_batch(const ArrayList& x, const ArrayList& y, const ArrayList& sample_weight,
                             const std::map<int64_t, double>& class_weight) const {
  check_not_interrupted("train_on_batch");
  Trainer& own = trainer();
  Arrays batch = prepare_arrays(*model(), {x.all(), y.all(), sample_weight.all()}, &own.options());
  apply_class_weight(batch, class_weight, model()->output_names());
  return scores_of(own, run_batch(own, Phase::train, batch));
}

Scores Model::test_on_batch(const ArrayList& x, const ArrayList& y,
                            const ArrayList& sample_weight) const {
  Trainer& own = trainer();
  const Arrays batch =
      prepare_arrays(*model(), {x.all(), y.all(), sample_weight.all()}, &own.options());
  return scores_of(own, run_batch(own, Phase::test, batch));
}

Tensor Model::predict_on_batch(const ArrayList& x) const {
  const std::shared_ptr<Trainer> own = trainer_or_bare();
  const Arrays batch = prepare_arrays(*model(), {x.all(), {}, {}}, nullptr);
  const BatchResult result = run_batch(*own, Phase::predict, batch);
  RowCollector rows(result.examples);
  rows.add(result.results, std::vector<int64_t>{result.examples});
  return only_output(rows.take());
}

std::unique_ptr<hlo::Module> Model::inference_module(int64_t batch_size) const {
  std::vector<TensorType> types = model()->input_types();
  if (types.empty()) {
    throw make_error(Code::failed_precondition,
                     "model '{}': input shape, got none, expected one: give the first layer an "
                     "input_shape or call the model on data",
                     name());
  }
  for (TensorType& type : types) type.shape.set_dim(0, batch_size);
  for (const TensorType& type : types) {
    if (type.shape.is_static()) continue;
    throw make_error(Code::failed_precondition,
                     "model '{}': input, got {}, expected a static shape", name(), type);
  }
  return trainer_or_bare()->inference_module(types);
}

}  // namespace systole::keras
