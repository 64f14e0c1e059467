#include "systole/keras/training/trainer.h"

#include <cstddef>
#include <utility>

#include "systole/base/error.h"
#include "systole/base/log.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/keras/base/counters.h"
#include "systole/keras/engine/weight_paths.h"
#include "systole/keras/training/step_values.h"
#include "systole/train/example_mask.h"
#include "systole/train/inference_program.h"
#include "systole/train/loop/share_variables.h"
#include "systole/train/replicas.h"

namespace systole::keras {
namespace {

constexpr uint64_t kNoVersion = ~uint64_t{0};

std::string program_key(Phase phase, const Trainer::BatchShape& shape) {
  std::string key =
      fmt::format("{} {} {}", static_cast<int>(phase), shape.weights.size(), shape.max_steps);
  for (const auto* types : {&shape.x, &shape.y, &shape.weights}) {
    for (const TensorType& type : *types) key += " " + type.to_string();
  }
  return key;
}

// predict() returns rows of examples.
void check_prediction_rows(const ModelDefinition& model, const std::vector<Output>& outputs,
                           int64_t batch) {
  const std::vector<std::string> names = model.output_names();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Shape& shape = outputs[i].shape();
    if (shape.rank() > 0 && shape[0] == batch) continue;
    throw invalid_argument(
        "predict: output {} of model '{}', got shape {} for a batch of {} examples, expected the "
        "batch as its first axis",
        i < names.size() ? fmt::format("'{}'", names[i]) : std::to_string(i), model.name(),
        sizes_text(shape), batch);
  }
}

// Warns if layers were frozen or unfrozen after compile(). As in Keras, the weights that were
// trainable before stay so.
void warn_of_changed_trainable(const ModelDefinition& model, const CollectedTrainable* collected) {
  if (collected == nullptr || model.trainable_weights() == collected->weights) return;
  log_once(LogLevel::warning,
           "model '{}': Discrepancy between trainable weights and collected trainable weights, did "
           "you set `model.trainable` without calling `model.compile` after ?",
           model.name());
}

}  // namespace

Trainer::Trainer(ModelDefinition& model, CompileOptions options, Placement placement,
                 std::shared_ptr<const CollectedTrainable> trainable)
    : model_(model),
      options_(std::move(options)),
      placement_(std::move(placement)),
      trainable_(std::move(trainable)),
      weights_(bind_weights([this] { return weight_paths(model_); })) {
  graph_.set_seed(0x6b65726173);  // draws are seeded by the layers; the session's state counts them
  session_ = std::make_unique<Session>(placement_.target, SessionConfig{.graph = &graph_});
}

Trainer::~Trainer() {
  try {
    release_weights();
  } catch (...) {  // NOLINT(bugprone-empty-catch): the values are lost with the session
  }
}

void Trainer::add_targets(Program& program, CallContext& context, const Output& loss) {
  StepEffects effects = loss.valid() ? build_train_op(context, weights_, model_, options_.optimizer,
                                                      trainable_->weights, loss)
                                     : effects_of(context, weights_, /*training=*/false);
  program.targets.insert(program.targets.end(), effects.operations.begin(),
                         effects.operations.end());
  program.updated = std::move(effects.changed);
}

Output Trainer::running_value(Program& program, const std::string& name, const Output& sum,
                              const Output& weight, int64_t replicas) {
  auto& [total, count] = metric_sums_[name];
  if (!total.valid()) {
    const NameScope top("");
    total = Variable(zeros({}), {.name = "metrics/" + name + "/total", .trainable = false});
    count = Variable(zeros({}), {.name = "metrics/" + name + "/count", .trainable = false});
  }
  const Output new_total = total.value() + replica_sum(sum);
  const Output new_count = count.value() + replica_sum(weight);
  program.targets.emplace_back(total.assign(new_total));
  program.targets.emplace_back(count.assign(new_count));
  return new_total / maximum(new_count, 1e-30) / static_cast<double>(replicas);
}

void Trainer::reset_metrics() {
  std::vector<Variable> sums;
  for (const auto& [name, pair] : metric_sums_) {
    sums.push_back(pair.first);
    sums.push_back(pair.second);
  }
  if (sums.empty()) return;
  StepLoop::set_variables(*session_, sums, std::vector<Tensor>(sums.size(), Tensor(0.0F)));
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
  for (const TensorType& type : shape.weights) {
    program.inputs.push_back(placeholder(type.dtype, type.shape));
  }
  const Output mask = placeholder(DType::f32, {batch}, "example_mask");
  program.inputs.push_back(mask);
  set_example_mask(mask);

  const int64_t replicas = all_replicas(phase);
  CallContext context(
      phase == Phase::train,
      [this](const WeightPtr& weight) { return weights_.variable_of(weight); }, replicas);
  if (trainable_) context.set_trainable_layers(trainable_->layers);
  const std::vector<Output> outputs = model_.apply(context, x);
  if (!trainable_) trainable_ = collect_trainable(model_);
  if (phase == Phase::predict) {
    program.fetches = outputs;
    add_targets(program, context, {});
    return program;
  }
  const auto targets = program.inputs.begin() + static_cast<std::ptrdiff_t>(shape.x.size());
  const auto weights = targets + static_cast<std::ptrdiff_t>(shape.y.size());
  StepValues values = make_step_values(
      model_, options_, context,
      {.outputs = outputs,
       .targets = {targets, weights},
       .sample_weights = {weights, weights + static_cast<std::ptrdiff_t>(shape.weights.size())},
       .example_mask = mask},
      replicas, [&](const std::string& name, const Output& sum, const Output& weight) {
        return running_value(program, name, sum, weight, replicas);
      });
  program.loss = values.loss();
  add_targets(program, context, phase == Phase::train ? program.loss : Output());
  for (Output& value : values.values) value = replica_sum(value);
  program.fetches = {stack(values.values)};
  metrics_names_ = std::move(values.names);
  running_metrics_ = std::move(values.running);
  return program;
}

runtime::ProcessGroup* Trainer::processes(Phase phase) {
  return phase == Phase::predict ? nullptr : runtime::process_group();
}

int64_t Trainer::all_replicas(Phase phase) const {
  const runtime::ProcessGroup* const group = processes(phase);
  return placement_.replicas * (group == nullptr ? 1 : group->size());
}

std::vector<Tensor> Trainer::own_parts(Phase phase, std::vector<Tensor> stacks) const {
  if (all_replicas(phase) == placement_.replicas) return stacks;
  const int64_t first = processes(phase)->rank() * placement_.replicas;
  for (Tensor& stack : stacks) stack = stack.slice(first, first + placement_.replicas);
  return stacks;
}

void Trainer::share_weights() {
  runtime::ProcessGroup* const group = processes(Phase::train);
  if (group == nullptr || group->size() == 1) return;
  upload();
  const std::vector<Variable> all = variables();
  train::share_variables(*session_, all, *group);
  session_->set_random_state(group->broadcast(session_->random_state()));
  hold_weights();
  num_shared_ = weights_.all().size();
}

StepLoop& Trainer::prepare(Phase phase, const BatchShape& shape) {
  if (phase == Phase::train) warn_of_changed_trainable(model_, trainable_.get());
  const std::string key = program_key(phase, shape);
  if (const auto it = programs_.find(key); it != programs_.end()) return *it->second.loop;
  Program program = build(phase, shape);
  if (phase == Phase::predict) {
    check_prediction_rows(model_, program.fetches, shape.x.at(0).shape[0]);
  }
  StepLoopOptions options{.inputs = program.inputs,
                          .fetches = program.fetches,
                          .targets = program.targets,
                          .num_replicas = static_cast<int>(placement_.replicas),
                          .processes = processes(phase),
                          .max_steps = shape.max_steps,
                          .keep = StepLoopOptions::Keep::every_step};
  for (const Output& input : program.inputs) options.input_types.push_back(input.type());
  program.loop = std::make_unique<StepLoop>(*session_, std::move(options));
  return *programs_.emplace(key, std::move(program)).first->second.loop;
}

void Trainer::upload() {
  std::vector<WeightPtr> all;
  for (const WeightBindings::Bound& bound : weights_.all()) all.push_back(bound.weight);
  initialize(all);
  versions_.resize(all.size(), kNoVersion);
  std::vector<Variable> variables;
  std::vector<Tensor> values;
  for (size_t i = 0; i < all.size(); ++i) {
    if (versions_[i] == all[i]->version()) continue;
    values.push_back(all[i]->value().clone());
    variables.push_back(weights_.all()[i].variable);
    versions_[i] = all[i]->version();
  }
  if (!variables.empty()) StepLoop::set_variables(*session_, variables, std::move(values));
}

std::span<const Tensor> Trainer::run(Phase phase, const BatchShape& shape,
                                     std::span<const Tensor> inputs, int64_t steps) {
  StepLoop& loop = prepare(phase, shape);
  upload();
  if (num_shared_ < weights_.all().size() && all_replicas(phase) > placement_.replicas) {
    share_weights();
  }
  loop.run(inputs, steps);
  for (const WeightPtr& weight : programs_.at(program_key(phase, shape)).updated) {
    weight->hold(this);
    versions_[weights_.index_of(*weight)] = weight->version();
  }
  return loop.results();
}

train::TrainStep Trainer::step_of(Phase phase, const BatchShape& shape) const {
  const Program& program = programs_.at(program_key(phase, shape));
  train::TrainStep step{
      .inputs = program.inputs, .replicas = placement_.replicas, .processes = processes(phase)};
  step.loss = program.loss;
  const auto name = [&](const char* what, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      step.input_names.push_back(count == 1 ? what : fmt::format("{}[{}]", what, i));
    }
  };
  name("x", shape.x.size());
  name("y", shape.y.size());
  name("sample_weight", shape.weights.size());
  return step;
}

std::unique_ptr<hlo::Module> Trainer::inference_module(const std::vector<TensorType>& x) {
  const Program program = build(Phase::predict, {.x = x, .y = {}, .weights = {}});
  if (!program.targets.empty()) {
    throw invalid_argument(
        "inference program: model '{}', got states between batches, expected none", model_.name());
  }
  upload();
  std::vector<Feed> feeds;
  for (size_t i = 0; i < x.size(); ++i) feeds.push_back({program.inputs[i], x[i]});
  return inference_program(*session_, program.fetches, feeds);
}

std::vector<Variable> Trainer::variables() const {
  std::vector<Variable> variables;
  for (const WeightBindings::Bound& bound : weights_.all()) variables.push_back(bound.variable);
  for (const auto& [name, pair] : metric_sums_) {
    variables.push_back(pair.first);
    variables.push_back(pair.second);
  }
  return variables;
}

void Trainer::hold_weights() {
  versions_.resize(weights_.all().size(), kNoVersion);
  for (size_t i = 0; i < versions_.size(); ++i) {
    const WeightPtr& weight = weights_.all()[i].weight;
    weight->hold(this);
    versions_[i] = weight->version();
  }
}

void Trainer::release_weights() {
  for (const WeightBindings::Bound& bound : weights_.all()) {
    if (bound.weight->holder() != this) continue;
    bound.weight->take(session_->variable_value(bound.variable).clone());
  }
}

}  // namespace systole::keras
