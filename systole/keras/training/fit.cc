#include "systole/keras/training/fit.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "systole/base/error.h"
#include "systole/base/random.h"
#include "systole/keras/seed.h"
#include "systole/keras/training/batch_stacker.h"
#include "systole/keras/training/progress_bar.h"

namespace systole::keras {
namespace {

// Steps of one launch: enough that the host's work for a launch does not count, few enough for a
// lively bar.
int64_t steps_per_launch(const Arrays& arrays, int64_t batch_size) {
  constexpr int64_t kMaxBytes = int64_t{64} << 20;
  constexpr int64_t kMaxSteps = 32;
  int64_t row_bytes = 1;
  for (const auto* list : {&arrays.x, &arrays.y, &arrays.sample_weights}) {
    for (const Tensor& array : *list) row_bytes += array.byte_size() / array.dim(0);
  }
  const int64_t steps = (arrays.examples() + batch_size - 1) / batch_size;
  return std::clamp<int64_t>(kMaxBytes / (row_bytes * batch_size), 1, std::min(kMaxSteps, steps));
}

std::vector<int64_t> in_order(int64_t count) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// The order of an epoch depends on (seed, epoch) alone, so that a resumed run takes the same rows.
std::vector<int64_t> shuffled(int64_t count, uint64_t seed, int64_t epoch) {
  std::vector<int64_t> order = in_order(count);
  RandomStream stream(seed, static_cast<uint64_t>(epoch));
  for (size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[stream.next_below(i)]);
  }
  return order;
}

// Means over examples of what steps report.
class RunningMeans {
 public:
  explicit RunningMeans(size_t count) : sums_(count) {}
  void add(std::span<const float> values, int64_t examples) {
    for (size_t i = 0; i < sums_.size(); ++i) {
      sums_[i] += static_cast<double>(values[i]) * static_cast<double>(examples);
    }
    examples_ += examples;
  }
  std::vector<double> means() const {
    std::vector<double> values = sums_;
    for (double& value : values) value /= static_cast<double>(std::max<int64_t>(examples_, 1));
    return values;
  }
  int64_t examples() const { return examples_; }

 private:
  std::vector<double> sums_;
  int64_t examples_ = 0;
};

Logs logs_of(const std::vector<std::string>& names, const std::vector<double>& values,
             const std::string& prefix = "") {
  Logs logs;
  for (size_t i = 0; i < names.size(); ++i) logs.set(prefix + names[i], values[i]);
  return logs;
}

int64_t examples_of_step(int64_t step, int64_t batch_size, int64_t count) {
  return std::min(batch_size, count - step * batch_size);
}

class FitRun {
 public:
  FitRun(ModelDefinition& model, const Arrays& arrays, const std::optional<Arrays>& validation,
         const FitOptions& options)
      : model_(model),
        trainer_(compiled(model)),
        arrays_(arrays),
        validation_(validation),
        options_(options),
        count_(arrays.examples()),
        stacker_(arrays, options.batch_size, trainer_.placement().replicas, max_steps()),
        steps_(stacker_.steps_for(count_)) {}

  History run() {
    trainer_.prepare(Phase::train, stacker_.batch_shape());
    const uint64_t seed = options_.shuffle ? static_cast<uint64_t>(next_seed()) : 0;
    begin();
    for (int64_t epoch = options_.initial_epoch; epoch < options_.epochs && !stop_; ++epoch) {
      run_epoch(epoch, options_.shuffle ? shuffled(count_, seed, epoch) : in_order(count_));
    }
    for (const CallbackPtr& callback : options_.callbacks) callback->on_train_end();
    return std::move(history_);
  }

 private:
  int64_t max_steps() const {
    const bool each = std::ranges::any_of(options_.callbacks, &Callback::needs_each_batch);
    return each ? 1 : steps_per_launch(arrays_, options_.batch_size);
  }

  void begin() {
    FitParams params{.batch_size = options_.batch_size,
                     .epochs = options_.epochs,
                     .steps = steps_,
                     .samples = count_,
                     .verbose = options_.verbose,
                     .do_validation = validation_.has_value(),
                     .validation_samples = validation_ ? validation_->examples() : 0,
                     .metrics = trainer_.metrics_names()};
    if (validation_) {
      for (const std::string& name : trainer_.metrics_names()) {
        params.metrics.push_back("val_" + name);
      }
    }
    for (const CallbackPtr& callback : options_.callbacks) {
      callback->model = &model_;
      callback->params = params;
      callback->stop_training = &stop_;
      callback->on_train_begin();
    }
    if (options_.verbose == 0) return;
    fmt::print("Train on {} samples", count_);
    if (validation_) fmt::print(", validate on {} samples", validation_->examples());
    fmt::print("\n");
  }

  void run_epoch(int64_t epoch, const std::vector<int64_t>& order) {
    if (options_.verbose > 0) fmt::print("Epoch {}/{}\n", epoch + 1, options_.epochs);
    for (const CallbackPtr& callback : options_.callbacks) callback->on_epoch_begin(epoch);
    ProgressBar bar(stdout, count_);
    RunningMeans means(trainer_.metrics_names().size());
    for (int64_t step = 0; step < steps_ && !stop_;) {
      const int64_t steps = std::min(stacker_.batch_shape().max_steps, steps_ - step);
      launch(order, step, steps, means);
      if (options_.verbose == 1) {
        bar.update(means.examples(), logs_of(trainer_.metrics_names(), means.means()));
      }
      step += steps;
    }
    finish_epoch(epoch, means, bar);
  }

  void launch(const std::vector<int64_t>& order, int64_t first, int64_t steps,
              RunningMeans& means) {
    if (stacker_.batch_shape().max_steps == 1) batch_begin(first);
    const std::span<const Tensor> results = trainer_.run(Phase::train, stacker_.batch_shape(),
                                                         stacker_.fill(order, first, steps), steps);
    const size_t width = trainer_.metrics_names().size();
    const size_t stride = width * static_cast<size_t>(trainer_.placement().replicas);
    const std::span<const float> values = results[0].data<float>();
    for (int64_t i = 0; i < steps; ++i) {
      const std::span<const float> of_step = values.subspan(static_cast<size_t>(i) * stride, width);
      const int64_t examples = examples_of_step(first + i, options_.batch_size, count_);
      means.add(of_step, examples);
      if (options_.callbacks.empty()) continue;
      if (stacker_.batch_shape().max_steps > 1) batch_begin(first + i);
      Logs logs;
      logs.set("batch", static_cast<double>(first + i));
      logs.set("size", static_cast<double>(examples));
      for (size_t k = 0; k < width; ++k) {
        logs.set(trainer_.metrics_names()[k], static_cast<double>(of_step[k]));
      }
      for (const CallbackPtr& callback : options_.callbacks) {
        callback->on_batch_end(first + i, logs);
      }
    }
  }

  void batch_begin(int64_t batch) {
    for (const CallbackPtr& callback : options_.callbacks) callback->on_batch_begin(batch);
  }

  void finish_epoch(int64_t epoch, const RunningMeans& means, ProgressBar& bar) {
    Logs logs = logs_of(trainer_.metrics_names(), means.means());
    if (validation_) {
      const Scores scores = evaluate_arrays(model_, *validation_, options_.batch_size, 0);
      for (size_t i = 0; i < scores.names.size(); ++i) {
        logs.set("val_" + scores.names[i], scores.values[i]);
      }
    }
    const Logs shown = logs;
    for (const CallbackPtr& callback : options_.callbacks) callback->on_epoch_end(epoch, logs);
    history_.epoch.push_back(epoch);
    for (const auto& [name, value] : logs) history_.history[name].push_back(value);
    if (options_.verbose == 1) bar.finish(shown);
    if (options_.verbose == 2) fmt::print("{}\n", values_text(shown).substr(1));
  }

  ModelDefinition& model_;
  Trainer& trainer_;
  const Arrays& arrays_;
  const std::optional<Arrays>& validation_;
  const FitOptions& options_;
  int64_t count_;
  BatchStacker stacker_;
  int64_t steps_;
  bool stop_ = false;
  History history_;
};

void check_batch_size(int64_t batch_size) {
  if (batch_size < 1) throw invalid_argument("batch_size, got {}, expected at least 1", batch_size);
}

}  // namespace

Trainer& compiled(ModelDefinition& model) {
  if (!model.trainer || model.trainer->options().loss.empty()) {
    throw make_error(Code::failed_precondition, "You must compile your model before using it.");
  }
  return *model.trainer;
}

Trainer& compiled_or_bare(ModelDefinition& model) {
  if (!model.trainer) {
    model.trainer = std::make_unique<Trainer>(model, CompileOptions{}, Placement{});
  }
  return *model.trainer;
}

History fit_arrays(ModelDefinition& model, const Arrays& arrays,
                   const std::optional<Arrays>& validation, const FitOptions& options) {
  check_batch_size(options.batch_size);
  return FitRun(model, arrays, validation, options).run();
}

Scores evaluate_arrays(ModelDefinition& model, const Arrays& arrays, int64_t batch_size,
                       int verbose) {
  check_batch_size(batch_size);
  Trainer& trainer = compiled(model);
  const int64_t count = arrays.examples();
  BatchStacker stacker(arrays, batch_size, trainer.placement().replicas,
                       steps_per_launch(arrays, batch_size));
  trainer.prepare(Phase::test, stacker.batch_shape());
  const std::vector<std::string> names = trainer.metrics_names();
  const std::vector<int64_t> order = in_order(count);
  RunningMeans means(names.size());
  ProgressBar bar(stdout, count);
  const int64_t all = stacker.steps_for(count);
  for (int64_t step = 0; step < all;) {
    const int64_t steps = std::min(stacker.batch_shape().max_steps, all - step);
    const std::span<const Tensor> results =
        trainer.run(Phase::test, stacker.batch_shape(), stacker.fill(order, step, steps), steps);
    const size_t stride = names.size() * static_cast<size_t>(trainer.placement().replicas);
    for (int64_t i = 0; i < steps; ++i) {
      means.add(results[0].data<float>().subspan(static_cast<size_t>(i) * stride, names.size()),
                examples_of_step(step + i, batch_size, count));
    }
    step += steps;
    if (verbose == 1) bar.update(means.examples(), logs_of(names, means.means()));
  }
  if (verbose == 1) bar.finish(logs_of(names, means.means()));
  return {names, means.means()};
}

std::vector<Tensor> predict_arrays(ModelDefinition& model, const Arrays& arrays,
                                   int64_t batch_size) {
  check_batch_size(batch_size);
  Trainer& trainer = compiled_or_bare(model);
  const int64_t replicas = trainer.placement().replicas;
  const int64_t count = arrays.examples();
  BatchStacker stacker(arrays, batch_size, replicas, steps_per_launch(arrays, batch_size));
  trainer.prepare(Phase::predict, stacker.batch_shape());
  const std::vector<int64_t> order = in_order(count);
  std::vector<Tensor> outputs;
  const int64_t all = stacker.steps_for(count);
  for (int64_t step = 0; step < all;) {
    const int64_t steps = std::min(stacker.batch_shape().max_steps, all - step);
    const std::span<const Tensor> results =
        trainer.run(Phase::predict, stacker.batch_shape(), stacker.fill(order, step, steps), steps);
    for (size_t k = 0; k < results.size(); ++k) {
      // [steps, replicas, batch of a replica, ...]: rows of a step lie together.
      const Shape& stacked = results[k].shape();
      Dims dims(stacked.begin() + 2, stacked.end());
      const int64_t rows_of_step = stacked[1] * stacked[2];
      dims[0] = count;
      if (step == 0) outputs.emplace_back(results[k].dtype(), Shape(std::move(dims)));
      const int64_t row_bytes = results[k].byte_size() / (stacked[0] * rows_of_step);
      for (int64_t i = 0; i < steps; ++i) {
        std::memcpy(static_cast<char*>(outputs[k].raw()) + (step + i) * batch_size * row_bytes,
                    static_cast<const char*>(results[k].raw()) + i * rows_of_step * row_bytes,
                    static_cast<size_t>(examples_of_step(step + i, batch_size, count) * row_bytes));
      }
    }
    step += steps;
  }
  return outputs;
}

}  // namespace systole::keras
