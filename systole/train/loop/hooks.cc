#include "systole/train/loop/hooks.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "systole/base/log.h"
#include "systole/base/number_text.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/tpu_collectives.h"
#include "systole/graph/core/variable.h"

namespace systole {
namespace {

double machine_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string number(const Tensor& value) {
  return value.num_elements() == 1 ? number_text(value) : value.to_string(10);
}

}  // namespace

LoopTimer::LoopTimer(Options options) : options_(std::move(options)) {
  if (!options_.every_steps && !options_.every_secs) {
    throw invalid_argument("Either every_secs or every_steps should be provided.");
  }
  if (options_.every_steps && options_.every_secs) {
    throw invalid_argument("Can not provide both every_secs and every_steps.");
  }
  if (!options_.clock) options_.clock = machine_seconds;
}

LoopTimer::Options LoopTimer::one_of(std::string_view error, std::optional<int64_t> every_steps,
                                     std::optional<double> every_secs) {
  if (every_steps.has_value() == every_secs.has_value()) throw invalid_argument("{}", error);
  return {.every_steps = every_steps, .every_secs = every_secs};
}

bool LoopTimer::should_trigger(int64_t step) const {
  if (!last_step_) return true;
  if (*last_step_ == step) return false;
  if (options_.every_secs && options_.clock() >= last_seconds_ + *options_.every_secs) return true;
  return options_.every_steps && step >= *last_step_ + *options_.every_steps;
}

int64_t LoopTimer::steps_to_trigger(int64_t step) const {
  if (!last_step_) return 1;
  if (!options_.every_steps) return INT64_MAX;
  const int64_t left = *last_step_ + *options_.every_steps - step;
  return left > 0 ? left : *options_.every_steps;
}

std::optional<LoopTimer::Elapsed> LoopTimer::triggered(int64_t step) {
  const double now = options_.clock();
  std::optional<Elapsed> elapsed;
  if (last_step_) elapsed = Elapsed{.seconds = now - last_seconds_, .steps = step - *last_step_};
  last_step_ = step;
  last_seconds_ = now;
  return elapsed;
}

StopAtStepHook::StopAtStepHook(const Options& options) : options_(options) {
  if (options.num_steps.has_value() == options.last_step.has_value()) {
    throw invalid_argument("One of num_steps or last_step must be specified.");
  }
}

void StopAtStepHook::stop_if_complete(RunContext& context) {
  if (!options_.last_step) options_.last_step = context.global_step() + *options_.num_steps;
  if (context.global_step() >= *options_.last_step) context.request_stop();
}

int64_t StopAtStepHook::steps_to_next_run(int64_t global_step) const {
  return options_.last_step ? std::max<int64_t>(*options_.last_step - global_step, 1) : 1;
}

void StopAtStepHook::after_run(RunContext& context, std::span<const Tensor>) {
  if (context.global_step() >= *options_.last_step) context.request_stop();
}

LoggingTensorHook::LoggingTensorHook(Options options)
    : options_(std::move(options)),
      timer_(LoopTimer::one_of("exactly one of every_n_iter and every_n_secs must be provided.",
                               options_.every_n_iter, options_.every_n_secs)) {
  if (options_.every_n_iter.value_or(1) <= 0) {
    throw invalid_argument("invalid every_n_iter={}.", *options_.every_n_iter);
  }
  if (!options_.write) options_.write = [](const std::string& line) { log_info("{}", line); };
}

std::vector<Output> LoggingTensorHook::fetches() {
  std::vector<Output> outputs;
  for (const auto& [name, output] : options_.tensors) outputs.push_back(output);
  return outputs;
}

int64_t LoggingTensorHook::steps_to_next_run(int64_t global_step) const {
  return timer_.steps_to_trigger(iterations_ + global_step - global_step_);
}

void LoggingTensorHook::after_run(RunContext& context, std::span<const Tensor> values) {
  iterations_ += context.steps();
  global_step_ = context.global_step();
  if (!timer_.should_trigger(iterations_)) return;
  const auto elapsed = timer_.triggered(iterations_);
  std::string line;
  for (size_t i = 0; i < values.size(); ++i) {
    line +=
        fmt::format("{}{} = {}", i == 0 ? "" : ", ", options_.tensors[i].first, number(values[i]));
  }
  line += fmt::format("{}step = {}", line.empty() ? "" : ", ", context.global_step());
  if (elapsed) line += fmt::format(" ({:.3f} sec)", elapsed->seconds);
  options_.write(line);
}

std::optional<std::string> first_non_finite(const Tensor& value) {
  if (!is_floating(value.dtype())) return std::nullopt;
  for (int64_t i = 0; i < value.num_elements(); ++i) {
    const double x = value.as_double(i);
    if (std::isfinite(x)) continue;
    std::string place;
    int64_t rest = i;
    const Dims strides = value.shape().strides();
    for (int axis = 0; axis < value.rank(); ++axis) {
      const int64_t stride = strides[axis];
      place += fmt::format("{}{}", axis == 0 ? "" : ",", rest / stride);
      rest %= stride;
    }
    return fmt::format("{} at [{}]", x, place);
  }
  return std::nullopt;
}

// The device records the step: the host sees only the last step of a loop.
void NanTensorHook::begin() {
  const NameScope scope("first_non_finite");
  const Variable first(Tensor::zeros(DType::s64, {replicas_}),
                       {.name = "step",
                        .trainable = false,
                        .collections = {std::string(graph_keys::local_variables)}});
  const Output step = add(get_or_create_global_step().value(), Tensor(int64_t{1}));
  const Output finite = reduce_all(systole::is_finite(loss_));
  const Output here = where_v2(finite, zeros_like(step), step);
  const Output mine = multiply(one_hot(tpu::replica_id(), replicas_, {.dtype = DType::s64}), here);
  first_ = first.assign(where(equal(first.value(), Tensor::zeros(DType::s64, {replicas_})),
                              tpu::cross_replica_sum(mine), first.value()));
}

namespace {

// Returns "nan at [] in step 37 on replica 2"; nothing if all losses were finite.
std::optional<std::string> first_bad_loss(std::span<const Tensor> values) {
  auto last = first_non_finite(values[0]);
  const std::span<const int64_t> steps = values[1].data<int64_t>();
  std::optional<size_t> first;
  for (size_t r = 0; r < steps.size(); ++r) {
    if (steps[r] != 0 && (!first || steps[r] < steps[*first])) first = r;
  }
  if (!first) return last;
  return fmt::format("{} in step {} on replica {}", last.value_or("a value that is not finite"),
                     steps[*first], *first);
}

}  // namespace

bool NanTensorHook::is_finite(std::span<const Tensor> values) {
  return values.size() < 2 || !first_bad_loss(values);
}

void NanTensorHook::after_run(RunContext& context, std::span<const Tensor> values) {
  if (values.size() < 2) return;
  const auto found = first_bad_loss(values);
  if (!found) return;
  std::string message =
      fmt::format("Model diverged with loss = NaN: loss '{}', got {}, seen after step {}",
                  loss_.name(), *found, context.global_step());
  for (const Variable& variable :
       loss_.graph().collection<Variable>(graph_keys::global_variables)) {
    const auto in_variable = first_non_finite(context.session().variable_value(variable));
    if (!in_variable) continue;
    message += fmt::format("; variable '{}' has {}", variable.name(), *in_variable);
    break;
  }
  if (fail_) throw make_error(Code::failed_precondition, "{}, expected finite numbers", message);
  log_warning("{}", message);
  context.request_stop();
}

StepCounterHook::StepCounterHook(Options options)
    : options_(std::move(options)),
      timer_(LoopTimer::one_of("exactly one of every_n_steps and every_n_secs should be provided.",
                               options_.every_n_steps, options_.every_n_secs)) {}

void StepCounterHook::before_run(RunContext& context) {
  step_before_ = context.global_step();
  // Starts the timer at the first loop, after the compilation.
  if (!timer_.should_trigger(context.global_step()) || examples_ > 0) return;
  timer_.triggered(context.global_step());
}

void StepCounterHook::after_run(RunContext& context, std::span<const Tensor>) {
  examples_ += context.examples();
  if (context.global_step() == step_before_ && !std::exchange(warned_, true)) {
    log_warning(
        "It seems that global step (st::get_global_step) has not been increased. Current value "
        "(could be stable): {} vs previous value: {}. You could increase the global step by "
        "passing st::get_global_step() to Optimizer.apply_gradients or Optimizer.minimize.",
        context.global_step(), step_before_);
  }
  if (!timer_.should_trigger(context.global_step())) return;
  const auto elapsed = timer_.triggered(context.global_step());
  if (elapsed && elapsed->seconds > 0) {
    const double steps = static_cast<double>(elapsed->steps) / elapsed->seconds;
    const double examples = static_cast<double>(examples_) / elapsed->seconds;
    log_info("global_step/sec: {:.6g}", steps);
    if (examples_ > 0) log_info("examples/sec: {:.6g}", examples);
    if (options_.record) options_.record(context.global_step(), steps, examples);
  }
  examples_ = 0;
}

CheckpointSaverHook::CheckpointSaverHook(Options options)
    : options_(std::move(options)),
      timer_(LoopTimer::one_of("exactly one of save_steps and save_secs must be provided.",
                               options_.save_steps, options_.save_secs)) {
  for (const SavingListener& listener : options_.listeners) {
    if (!listener) {
      throw invalid_argument(
          "saving_listeners: listener, got a null pointer, expected a CheckpointSaverListener");
    }
  }
}

void CheckpointSaverHook::begin() {
  if (!options_.save) {
    throw invalid_argument(
        "CheckpointSaverHook: save, got no function, expected one: it may be absent only among the "
        "hooks of a training or a MonitoredSession");
  }
  for (const SavingListener& listener : options_.listeners) listener->begin();
}

bool CheckpointSaverHook::save(Session& session, int64_t step) {
  timer_.triggered(step);
  if (saved_ == step) return false;
  for (const SavingListener& listener : options_.listeners) listener->before_save(session, step);
  options_.save(session, step);
  saved_ = step;
  if (options_.listeners.empty()) return false;
  if (options_.wait) options_.wait();
  bool stop = false;
  for (const SavingListener& listener : options_.listeners) {
    stop = listener->after_save(session, step) || stop;
  }
  return stop;
}

void CheckpointSaverHook::before_run(RunContext& context) {
  step_ = context.global_step();
  if (!saved_ && save(context.session(), step_)) context.request_stop();
}

void CheckpointSaverHook::after_run(RunContext& context, std::span<const Tensor>) {
  step_ = context.global_step();
  if (timer_.should_trigger(step_) && save(context.session(), step_)) context.request_stop();
}

void CheckpointSaverHook::end(Session& session) {
  if (step_ < 0) return;
  save(session, step_);
  for (const SavingListener& listener : options_.listeners) listener->end(session, step_);
}

void FinalOpsHook::end(Session& session) {
  const std::vector<Fetch> fetches(final_ops_.begin(), final_ops_.end());
  values_ = session.run(fetches);
}

}  // namespace systole
