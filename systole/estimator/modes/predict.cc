#include <chrono>
#include <deque>
#include <set>

#include "systole/base/log.h"
#include "systole/estimator/impl.h"
#include "systole/estimator/modes/host_calls.h"
#include "systole/estimator/modes/quantized_predictions.h"
#include "systole/train/loop/hook_runner.h"
#include "systole/train/loop/step_driver.h"
#include "systole/train/loop/watchdog.h"

namespace systole {
namespace {

// Returns the requested predictions.
Nest<Output> selected(const Nest<Output>& predictions, const std::vector<std::string>& keys) {
  if (keys.empty()) return predictions;
  if (!predictions.is_dict()) {
    throw invalid_argument("predict_keys argument is not valid in case of non-dict predictions.");
  }
  std::vector<Nest<Output>::Entry> entries;
  entries.reserve(keys.size());
  for (const std::string& key : keys) entries.emplace_back(key, predictions[key]);
  return Nest<Output>::dict(std::move(entries));
}

// The state of a range of predictions.
struct Predictor : std::enable_shared_from_this<Predictor>, train::StepListener, train::StepInput {
  estimator::Input input;
  std::shared_ptr<estimator::BuiltModel> built;
  Nest<Output> predictions;
  std::optional<estimator::QuantizedPredictions> quantized;  // in place of the built runner
  std::optional<data::StepFeed> feed;
  std::optional<train::HookRunner> hooks;
  bool single_examples = true;
  std::deque<Nest<Tensor>> ready;
  int64_t batches = 0;
  bool ended = false;
  std::optional<train::WatchedThread> thread;  // of all batches; ends first

  std::optional<Nest<Tensor>> next();
  // Makes the runner, unless the one of the last prediction fits, and the driver.
  void make_driver(const std::vector<Output>& fetches, const runtime::ProgramOptions& program);
  void next_batch();
  // The rest runs on a thread that may be abandoned: in a Visit it uses nothing that next() uses.
  struct Batch {
    bool ran = false;
    int64_t examples = 0;
    std::vector<Tensor> seen;  // by hooks
  };
  void read_and_run(Batch& into, train::Heartbeat& heartbeat);
  std::optional<data::StackedSteps> next(int64_t steps, int64_t ahead) override {
    return feed->next(steps, ahead);
  }
  std::string advice() const override { return feed->report().advice(); }
  int64_t position() const override { return batches; }
  // A call of read_and_run() runs one batch; the driver reads the next one ahead.
  int64_t launch_limit(int64_t after) override { return after > 0 || !batch->ran ? 1 : 0; }
  bool after_launch(const train::StepLaunch& launch) override;
  std::optional<train::StepDriver> driver;
  Batch* batch = nullptr;  // of read_and_run()
  train::Heartbeat* beat = nullptr;
  // A batch of one replica is returned as the model makes it: with other shapes too.
  bool takes_any_shape() const { return !single_examples && input.replicas == 1; }
  void call_host(std::span<const Tensor> fetched, train::Heartbeat& heartbeat) const;
};

void check_batch(const Output& prediction, const estimator::Input& input) {
  const Shape& shape = prediction.shape();
  if (shape.rank() > 0 &&
      (shape[0] == kUnknown || !input.replica_batch || shape[0] == *input.replica_batch)) {
    return;
  }
  throw invalid_argument(
      "predictions: '{}', got {}, expected the batch{} as the first dimension", prediction.name(),
      prediction.type(),
      input.replica_batch ? fmt::format(" of {} examples", *input.replica_batch) : "");
}

// [replicas, ...] whose rows are the batch's.
bool has_rows(const Tensor& result, int64_t batch) {
  return result.rank() > 1 && result.dim(1) == batch;
}

// Checks dimensions that were unknown when the model was built.
void check_rows(const Nest<Output>& predictions, std::span<const Tensor> results, int64_t batch) {
  const std::vector<Output> outputs = predictions.flatten();
  for (size_t i = 0; i < results.size(); ++i) {
    if (has_rows(results[i], batch)) continue;
    throw invalid_argument("predictions: '{}', got {} rows, expected one for each of {} examples",
                           outputs[i].name(), results[i].dim(1), batch);
  }
}

// Copies the rows of real examples of all replicas: [examples, ...]. The next run overwrites `all`.
Tensor examples_of(const Tensor& all, std::span<const int64_t> in_replica) {
  const int64_t batch = all.dim(1);
  Dims dims(all.shape().begin() + 1, all.shape().end());
  dims[0] *= all.dim(0);
  std::vector<int64_t> real;
  for (size_t replica = 0; replica < in_replica.size(); ++replica) {
    for (int64_t i = 0; i < in_replica[replica]; ++i) {
      real.push_back(static_cast<int64_t>(replica) * batch + i);
    }
  }
  return train::take_rows(all.reshape(Shape(std::move(dims))), real);
}

// Copies example `i` of a replica.
Nest<Tensor> example_of(const Nest<Output>& structure, std::span<const Tensor> results,
                        int64_t replica, int64_t i) {
  std::vector<Tensor> values;
  values.reserve(results.size());
  for (const Tensor& all : results) {
    const std::span<const int64_t> dims(all.shape().dims());
    const Tensor rows = all.slice(replica, replica + 1).reshape(Shape(dims.subspan(1)));
    // A copy, so that a prediction does not keep its batch alive.
    values.push_back(rows.slice(i, i + 1).reshape(Shape(dims.subspan(2))).clone());
  }
  return pack_like(structure, std::move(values));
}

// Calls the host_call. A batch is one step: [replicas, ...] -> [1, replicas, ...].
void Predictor::call_host(std::span<const Tensor> fetched, train::Heartbeat& heartbeat) const {
  std::vector<Tensor> steps;
  for (const Tensor& value : fetched) {
    Dims dims = value.shape().dims();
    dims.insert(dims.begin(), 1);
    steps.push_back(value.reshape(Shape(std::move(dims))));
  }
  estimator::run_host_calls(
      built->model.spec.host_call, steps,
      {.first = batches, .first_replica = input.layout == estimator::Layout::broadcast}, heartbeat);
}

bool Predictor::after_launch(const train::StepLaunch& launch) {
  const data::StackedSteps& steps = launch.batches;
  const std::vector<Output> of_predictions = predictions.flatten();
  const auto results = launch.results.first(of_predictions.size());
  const auto of_hooks = launch.results.subspan(results.size(), hooks->fetches().size());
  const int64_t rows_of_batch = steps.stacks.back().dim(2);
  if (!takes_any_shape()) check_rows(predictions, results, rows_of_batch);
  call_host(launch.results.subspan(results.size() + of_hooks.size()), *beat);
  if (single_examples) {
    for (size_t r = 0; r < steps.in_replica.size(); ++r) {
      for (int64_t i = 0; i < steps.in_replica[r]; ++i) {
        ready.push_back(example_of(predictions, results, static_cast<int64_t>(r), i));
      }
    }
  } else if (steps.examples > 0) {
    std::vector<Tensor> rows;
    rows.reserve(results.size());
    for (const Tensor& result : results) {
      rows.push_back(has_rows(result, rows_of_batch) ? examples_of(result, steps.in_replica)
                                                     : train::of_first_replica(result).clone());
    }
    ready.push_back(pack_like(predictions, std::move(rows)));
  }
  *batch = {.ran = true, .examples = steps.examples, .seen = train::hook_values(of_hooks, 0)};
  return true;
}

void Predictor::read_and_run(Batch& into, train::Heartbeat& heartbeat) {
  batch = &into;
  beat = &heartbeat;
  driver->drive(*this, heartbeat);
}

void Predictor::next_batch() {
  const auto start = std::chrono::steady_clock::now();
  const auto next_one = std::make_shared<Batch>();
  ended = true;  // also after an error, as a generator is; a thread may still be in the input
  if (hooks->before()) {
    thread->run([self = shared_from_this(), next_one](train::Heartbeat& heartbeat) {
      self->read_and_run(*next_one, heartbeat);
    });
  }
  if (next_one->ran) {
    ++batches;
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    ended = !hooks->after({.steps = 1, .seconds = seconds.count(), .examples = next_one->examples},
                          next_one->seen);
  }
  if (ended) hooks->end();
}

void Predictor::make_driver(const std::vector<Output>& fetches,
                            const runtime::ProgramOptions& program) {
  if (!built->runner || built->runner->options().fetches != fetches) {
    built->runner.emplace(*built->session,
                          StepLoopOptions{.inputs = built->model.inputs,
                                          .fetches = fetches,
                                          .num_replicas = static_cast<int>(input.replicas),
                                          .program = program},
                          built->model.mask);
  }
  driver.emplace(train::StepDriverOptions{.input = this,
                                          .run =
                                              [this](const data::StackedSteps& batches) {
                                                return quantized ? quantized->run(batches)
                                                                 : built->runner->run(batches);
                                              },
                                          .launch_seconds = 0,
                                          .stops_on_signals = false,
                                          .work = "predict"});
}

std::optional<Nest<Tensor>> Predictor::next() {
  while (ready.empty() && !ended) next_batch();
  if (ready.empty()) return std::nullopt;
  Nest<Tensor> value = std::move(ready.front());
  ready.pop_front();
  return value;
}

}  // namespace

PredictionRange TPUEstimator::Impl::predict(const InputFn& input_fn,
                                            const PredictOptions& predict) {
  require_checkpoint(predict.checkpoint_path, Mode::predict);
  auto predictor = std::make_shared<Predictor>();
  predictor->input = make_input(input_fn, Mode::predict);
  predictor->built = build(predictor->input, Mode::predict, predict.hooks);
  estimator::BuiltModel& built = *predictor->built;
  predictor->predictions = selected(built.model.spec.predictions, predict.predict_keys);
  predictor->single_examples = predict.yield_single_examples;
  predictor->thread.emplace(config.tpu_config.hang_timeout_secs, kHangOption);
  std::vector<Output> fetches = predictor->predictions.flatten();
  if (!predictor->takes_any_shape()) {
    for (const Output& output : fetches) check_batch(output, predictor->input);
  }
  HookList hooks = predict.hooks;
  const HookList& of_model = built.model.spec.prediction_hooks;
  hooks.insert(hooks.end(), of_model.begin(), of_model.end());
  predictor->hooks.emplace(std::move(hooks), *built.model.graph);
  const std::vector<Output> of_host =
      estimator::host_call_fetches(built.model.spec.host_call, built.model.mask);
  std::vector<Output> step = fetches;
  step.insert(step.end(), of_host.begin(), of_host.end());
  predictor->hooks->add_prints(*built.model.graph, step);
  const std::vector<Output>& seen = predictor->hooks->fetches();
  fetches.insert(fetches.end(), seen.begin(), seen.end());
  fetches.insert(fetches.end(), of_host.begin(), of_host.end());
  restore(built.model, *built.session, predict.checkpoint_path);
  if (predict.quantized) {
    if (!seen.empty() || !of_host.empty()) {
      throw unimplemented(
          "predict: values for hooks and host_call from a quantized model, got {}, expected none",
          seen.size() + of_host.size());
    }
    predictor->quantized.emplace(built, predictor->input, fetches,
                                 make_input(predict.quantized->calibration_input_fn, Mode::predict),
                                 *predict.quantized);
  }
  predictor->hooks->start(*built.session, 0);
  predictor->feed.emplace(
      estimator::step_source(predictor->input, /*pad=*/true),
      data::StackOptions{.max_steps = 1, .fixed = false, .iterator = {.entropy = entropy()}});
  predictor->make_driver(fetches, program_options());
  PredictionRange range;
  range.next_ = [predictor] { return predictor->next(); };
  return range;
}

std::optional<Nest<Tensor>> PredictionRange::next() { return next_ ? next_() : std::nullopt; }

PredictionRange::Iterator PredictionRange::begin() {
  Iterator iterator;
  iterator.range_ = this;
  iterator.current_ = next();
  return iterator;
}

PredictionRange::Iterator& PredictionRange::Iterator::operator++() {
  current_ = range_->next();
  return *this;
}

}  // namespace systole
