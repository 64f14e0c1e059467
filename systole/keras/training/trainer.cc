#include "systole/keras/training/trainer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "systole/base/error.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/gradients/gradients.h"
#include "systole/keras/seed.h"
#include "systole/train/example_mask.h"
#include "systole/train/replicas.h"

namespace systole::keras {
namespace {

std::string key_of(Phase phase, const Trainer::BatchShape& shape) {
  std::string key =
      fmt::format("{} {} {}", static_cast<int>(phase), shape.weighted, shape.max_steps);
  for (const auto* types : {&shape.x, &shape.y}) {
    for (const TensorType& type : *types) key += " " + type.to_string();
  }
  return key;
}

// sum(values * weights) / sum(weights) over all replicas, 0 without weights. `values` may have axes
// after those of `weights`.
Output weighted_mean(const Output& values, const Output& weights) {
  Output w = weights;
  while (w.shape().rank() < values.shape().rank()) w = expand_dims(w, -1);
  const Output spread = w * ones_like(values);
  const Output total = stop_gradient(replica_sum(reduce_sum(spread)));
  return reduce_sum(values * spread) / maximum(total, 1e-30);
}

// Per-example losses have no axis of features; those of a mask have the axis of time.
Output with_mask(const Output& weights, const Output& mask, const Output& values) {
  if (!mask.valid() || values.shape().rank() < 2) return weights;
  const Output m = cast(mask, DType::f32);
  return weights.shape().rank() == 1 ? expand_dims(weights, 1) * m : weights * m;
}

}  // namespace

// Duplicate names get a number.
void Trainer::OutputValues::add(const std::string& name, const Output& value) {
  std::string unique = name;
  for (int n = 1; std::ranges::find(names, unique) != names.end(); ++n) {
    unique = fmt::format("{}_{}", name, n);
  }
  names.push_back(std::move(unique));
  values.push_back(value);
}

Trainer::Trainer(ModelDefinition& model, CompileOptions options, Placement placement)
    : model_(model), options_(std::move(options)), placement_(std::move(placement)) {
  graph_.set_seed(0x6b65726173);  // draws are seeded by the layers; the session's state counts them
  session_ = std::make_unique<Session>(placement_.target, SessionConfig{.graph = &graph_});
}

Trainer::~Trainer() {
  try {
    release_weights();
  } catch (...) {  // NOLINT(bugprone-empty-catch): the values are lost with the session
  }
}

Variable Trainer::variable_of(const WeightPtr& weight) {
  const auto [it, added] = index_of_.emplace(weight.get(), held_.size());
  if (added) {
    const NameScope top("");
    const Variable variable(zeros(weight->shape(), weight->type().dtype),
                            {.name = weight->name(), .trainable = weight->trainable()});
    held_.push_back({.weight = weight, .variable = variable});
  }
  return held_[it->second].variable;
}

Output Trainer::regularization(CallContext& context) {
  Output total;
  for (const WeightPtr& weight : model_.weights()) {
    const RegularizerFn& penalty = weight->options().regularizer;
    if (!penalty) continue;
    const Output term = penalty(context.value(weight));
    total = total.valid() ? total + term : term;
  }
  return total;
}

Output Trainer::build_output_losses(OutputValues& values, const Program& program,
                                    const CallContext& context, const std::vector<Output>& outputs,
                                    const BatchShape& shape) {
  const size_t count = outputs.size();
  const std::vector<std::string> names = model_.output_names();
  Output loss;
  for (size_t i = 0; i < count; ++i) {
    const std::optional<LossSpec> spec = options_.loss.of(i, count, names[i]);
    if (!spec || !*spec) continue;
    const Output target = program.inputs[shape.x.size() + i];
    const Output mask = program.inputs.back();
    const Output weights =
        shape.weighted ? program.inputs[shape.x.size() + count + i] * mask : mask;
    const Output each = (*spec)(target, outputs[i]);
    const Output mean = weighted_mean(each, with_mask(weights, context.mask(outputs[i]), each));
    if (count > 1) values.add(names[i] + "_loss", mean);
    const Output term = mean * options_.loss_weights.of(i, count, names[i]).value_or(1.0);
    loss = loss.valid() ? loss + term : term;
  }
  if (!loss.valid()) {
    throw invalid_argument(
        "The model cannot be compiled because it has no loss to optimize: got no loss for outputs "
        "{}",
        fmt::join(names, ", "));
  }
  return loss;
}

void Trainer::build_metrics(OutputValues& values, const Program& program,
                            const CallContext& context, const std::vector<Output>& outputs,
                            const BatchShape& shape) {
  const size_t count = outputs.size();
  const std::vector<std::string> names = model_.output_names();
  const Output mask = program.inputs.back();
  for (size_t i = 0; i < count; ++i) {
    const std::optional<LossSpec> spec = options_.loss.of(i, count, names[i]);
    if (!spec || !*spec) continue;
    const auto add = [&](const MetricSpec& metric, bool weighted) {
      const MetricSpec::Resolved resolved = metric.resolve(outputs[i].shape(), *spec);
      const Output each = resolved.function(program.inputs[shape.x.size() + i], outputs[i]);
      const Output weights =
          weighted && shape.weighted ? program.inputs[shape.x.size() + count + i] * mask : mask;
      const std::string name = (weighted ? "weighted_" : "") + resolved.name;
      values.add(count > 1 ? names[i] + "_" + name : name,
                 weighted_mean(each, with_mask(weights, context.mask(outputs[i]), each)));
    };
    for (const MetricSpec& metric : options_.metrics) add(metric, false);
    if (const auto it = options_.output_metrics.find(names[i]);
        it != options_.output_metrics.end()) {
      for (const MetricSpec& metric : it->second) add(metric, false);
    }
    for (const MetricSpec& metric : options_.weighted_metrics) add(metric, true);
  }
}

void Trainer::build_losses(Program& program, CallContext& context,
                           const std::vector<Output>& outputs, const BatchShape& shape,
                           Phase phase) {
  OutputValues values{.names = {"loss"}, .values = {Output()}};
  Output loss = build_output_losses(values, program, context, outputs, shape);
  build_metrics(values, program, context, outputs, shape);
  // What does not depend on the examples is divided among the replicas, so that their sum is right.
  const double share = 1.0 / static_cast<double>(placement_.replicas);
  if (const Output penalty = regularization(context); penalty.valid()) {
    loss = loss + penalty * share;
  }
  for (const Output& added : context.losses()) loss = loss + added;
  if (phase == Phase::train) build_updates(program, context, loss);
  values.values[0] = loss;
  for (Output& value : values.values) value = replica_sum(value);
  program.fetches = {stack(values.values)};
  metrics_names_ = std::move(values.names);
}

void Trainer::build_updates(Program& program, CallContext& context, const Output& loss) {
  if (!options_.optimizer) {
    throw make_error(Code::failed_precondition,
                     "You must compile your model before training, with an optimizer.");
  }
  std::vector<Output> values;
  for (const WeightPtr& weight : trainable_) values.push_back(context.value(weight));
  const std::vector<Output> gradients = systole::gradients({loss}, values);
  std::vector<Parameter> parameters;
  for (size_t i = 0; i < trainable_.size(); ++i) {
    if (!gradients[i].valid()) continue;
    parameters.push_back({trainable_[i], replica_sum(gradients[i])});
  }
  if (parameters.empty()) {
    throw invalid_argument(
        "No gradients provided for any variable: the loss depends on none of {} "
        "trainable weights",
        trainable_.size());
  }
  options_.optimizer->add_updates(context, parameters);
  for (const CallContext::Update& update : context.updates()) {
    program.targets.emplace_back(variable_of(update.weight).assign(update.value));
    program.updated.push_back(update.weight);
  }
}

Trainer::Program Trainer::build(Phase phase, const BatchShape& shape) {
  const UserGraphScope user_graph;
  const GraphScope scope(graph_);
  const NameScope top(phase == Phase::train  ? "training"
                      : phase == Phase::test ? "testing"
                                             : "predicting");
  Program program;
  std::vector<Output> x;
  for (const TensorType& type : shape.x) {
    x.push_back(placeholder(type.dtype, type.shape));
    program.inputs.push_back(x.back());
  }
  const int64_t batch = shape.x.at(0).shape[0];
  for (const TensorType& type : shape.y) {
    program.inputs.push_back(placeholder(type.dtype, type.shape));
  }
  if (shape.weighted) {
    for (size_t i = 0; i < shape.y.size(); ++i) {
      program.inputs.push_back(placeholder(DType::f32, {batch}));
    }
  }
  const Output mask = placeholder(DType::f32, {batch}, "example_mask");
  program.inputs.push_back(mask);
  set_example_mask(mask);

  CallContext context(phase == Phase::train,
                      [this](const WeightPtr& weight) { return variable_of(weight); });
  const std::vector<Output> outputs = model_.apply(context, x);
  if (phase == Phase::predict) {
    program.fetches = outputs;
    return program;
  }
  if (phase == Phase::train && trainable_.empty()) trainable_ = model_.trainable_weights();
  build_losses(program, context, outputs, shape, phase);
  return program;
}

StepLoop& Trainer::prepare(Phase phase, const BatchShape& shape) {
  Program& program = programs_[key_of(phase, shape)];
  if (program.loop) return *program.loop;
  program = build(phase, shape);
  StepLoopOptions options{.inputs = program.inputs,
                          .fetches = program.fetches,
                          .targets = program.targets,
                          .num_replicas = static_cast<int>(placement_.replicas),
                          .max_steps = shape.max_steps,
                          .keep = StepLoopOptions::Keep::every_step};
  for (const Output& input : program.inputs) options.input_types.push_back(input.type());
  program.loop = std::make_unique<StepLoop>(*session_, std::move(options));
  return *program.loop;
}

void Trainer::upload() {
  std::vector<WeightPtr> all;
  for (const Held& held : held_) all.push_back(held.weight);
  initialize(all);
  std::vector<Variable> variables;
  std::vector<Tensor> values;
  for (Held& held : held_) {
    if (held.version == held.weight->version()) continue;
    values.push_back(held.weight->value().clone());
    variables.push_back(held.variable);
    held.version = held.weight->version();
  }
  if (!variables.empty()) StepLoop::set_variables(*session_, variables, std::move(values));
}

std::span<const Tensor> Trainer::run(Phase phase, const BatchShape& shape,
                                     std::span<const Tensor> inputs, int64_t steps) {
  StepLoop& loop = prepare(phase, shape);
  upload();
  loop.run(inputs, steps);
  for (const WeightPtr& weight : programs_.at(key_of(phase, shape)).updated) {
    weight->hold(this);
    held_[index_of_.at(weight.get())].version = weight->version();
  }
  return loop.results();
}

void Trainer::release_weights() {
  for (Held& held : held_) {
    if (held.weight->holder() != this) continue;
    held.weight->take(session_->variable_value(held.variable).clone());
  }
}

}  // namespace systole::keras
