// evaluate(), predict(), and single batches.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "systole/base/error.h"
#include "systole/base/log.h"
#include "systole/data/feed/step_stack.h"
#include "systole/keras/fit/fit.h"
#include "systole/keras/fit/progress_bar.h"
#include "systole/keras/fit/running_means.h"
#include "systole/keras/training/logs.h"
#include "systole/train/loop/batch_diagnosis.h"
#include "systole/train/loop/signals.h"
#include "systole/train/loop/step_driver.h"

namespace systole::keras {
namespace {

// An evaluation or a prediction: an epoch of launches, until a signal comes.
class Pass : public train::StepListener {
 public:
  using Report = std::function<void(const data::StackedSteps&, std::span<const Tensor> results)>;

  Pass(Trainer& trainer, Phase phase, BatchFeed& feed, Report report)
      : feed_(feed),
        report_(std::move(report)),
        driver_({.input = &feed,
                 .run =
                     [&trainer, &feed, phase](const data::StackedSteps& batches) {
                       return trainer.run(phase, feed.batch_shape(), batches.stacks, batches.steps);
                     },
                 .processes = Trainer::processes(phase),
                 .work = phase == Phase::test ? "evaluate" : "predict"}) {}

  // Returns false if a signal has ended it.
  bool run(train::Heartbeat& heartbeat) {
    const StopSignals signals;
    return driver_.drive(*this, heartbeat) != train::StepDriver::End::stopped;
  }
  int64_t position() const override { return done_; }
  int64_t launch_limit(int64_t after) override {
    const int64_t most = feed_.batch_shape().max_steps;
    const std::optional<int64_t> steps = feed_.source().steps();
    return steps ? std::min(most, *steps - done_ - after) : most;
  }
  bool after_launch(const train::StepLaunch& launch) override {
    done_ += launch.batches.steps;
    report_(launch.batches, launch.results);
    return true;
  }

 private:
  BatchFeed& feed_;
  Report report_;
  int64_t done_ = 0;
  train::StepDriver driver_;
};

ProgressBar bar_of(const BatchSource& source, bool counts_examples) {
  return counts_examples ? ProgressBar(source.examples(), "sample")
                         : ProgressBar(source.steps().value_or(0), "step");
}

}  // namespace

void run_watched_in_graph(double limit, const char* option,
                          std::function<void(train::Heartbeat&)> body) {
  if (!(limit >= 0)) {
    throw invalid_argument("{}, got {}, expected >= 0", option, limit);
  }
  Graph* const graph = &Graph::current();
  train::run_watched(limit, option, [graph, body = std::move(body)](train::Heartbeat& heartbeat) {
    const GraphScope scope(*graph);
    body(heartbeat);
  });
}

void warn_of_loss(const Trainer& trainer, Phase phase, const BatchFeed& feed, float loss,
                  const data::StackedSteps& batches, int64_t first, const std::string& where) {
  const std::string reason =
      train::diagnose_batch(trainer.step_of(phase, feed.batch_shape()), batches, first);
  log_warning("{}: the loss is {} {}{}{}", phase == Phase::train ? "fit" : "evaluate",
              std::isnan(loss) ? "nan" : "infinite", where, reason.empty() ? "" : "; ", reason);
}

std::optional<Scores> run_evaluate(Trainer& trainer, BatchFeed& feed, train::Heartbeat& heartbeat,
                                   int verbose, bool counts_examples) {
  trainer.prepare(Phase::test, feed.batch_shape());
  const std::vector<std::string> names = trainer.metrics_names();
  trainer.reset_metrics();
  RunningMeans means(trainer.running_metrics());
  ProgressBar bar = bar_of(feed.source(), counts_examples);
  int64_t done = 0;
  bool warned = false;
  Pass pass(trainer, Phase::test, feed, [&](const auto& stack, std::span<const Tensor> results) {
    const size_t stride = names.size() * static_cast<size_t>(trainer.placement().replicas);
    for (size_t i = 0; i < static_cast<size_t>(stack.steps); ++i) {
      const std::span<const float> values =
          results[0].data<float>().subspan(i * stride, names.size());
      means.add(values, stack.in_step[i]);
      if (warned || std::isfinite(values[0])) continue;
      warned = true;
      warn_of_loss(trainer, Phase::test, feed, values[0], stack, done,
                   fmt::format("in batch {} of evaluate()", done + static_cast<int64_t>(i) + 1));
    }
    done += stack.steps;
    if (verbose != 1) return;
    bar.update(counts_examples ? means.examples() : done, make_logs(names, means.means()));
  });
  if (!pass.run(heartbeat)) return std::nullopt;
  if (verbose == 1) bar.finish(make_logs(names, means.means()));
  return Scores{names, means.means()};
}

std::vector<Tensor> run_predict(Trainer& trainer, BatchFeed& feed, train::Heartbeat& heartbeat,
                                int verbose, bool counts_examples) {
  RowCollector collector(feed.source().examples());
  ProgressBar bar = bar_of(feed.source(), counts_examples);
  int64_t done = 0;
  Pass pass(trainer, Phase::predict, feed, [&](const auto& stack, std::span<const Tensor> results) {
    collector.add(results, stack.in_step);
    done += counts_examples ? stack.examples : stack.steps;
    if (verbose == 1) bar.update(done, {});
  });
  pass.run(heartbeat);
  if (verbose == 1) bar.finish({});
  return collector.take();
}

BatchResult run_batch(Trainer& trainer, Phase phase, const Arrays& batch) {
  const int64_t replicas = trainer.all_replicas(phase);
  const data::StepSource source{
      .layout = data::StepLayout::split, .replicas = replicas, .pad = true, .name = "batch"};
  Components row;
  Trainer::BatchShape shape{.max_steps = 1};
  const auto add = [&](const std::vector<Tensor>& arrays, std::vector<TensorType>& types) {
    std::vector<TensorType> of_arrays;
    for (const Tensor& array : arrays) {
      row.push_back(array);
      of_arrays.push_back(array.type());
    }
    types = data::part_types(source, std::move(of_arrays));
  };
  add(batch.x, shape.x);
  add(batch.y, shape.y);
  add(batch.sample_weights, shape.weights);
  data::StepStack stack(source);
  std::vector<TensorType> types;
  for (const Tensor& part : row) types.push_back(part.type());
  stack.set_types(data::part_types(source, std::move(types)), 1);
  stack.push({row});
  const auto& all = stack.buffers();
  return {trainer.run(phase, shape, trainer.own_parts(phase, {all.begin(), all.end()}), 1),
          batch.examples()};
}

void RowCollector::reserve(int64_t rows, std::span<const Tensor> results) {
  if (!outputs_.empty() && rows <= capacity_) return;
  capacity_ = std::max({rows, 2 * capacity_, expected_});
  std::vector<Tensor> grown;
  for (size_t k = 0; k < results.size(); ++k) {
    Dims dims(results[k].shape().begin() + 2, results[k].shape().end());
    dims[0] = capacity_;
    grown.emplace_back(results[k].dtype(), Shape(std::move(dims)));
    if (outputs_.empty()) continue;
    const Tensor filled = outputs_[k].slice(0, rows_);
    if (filled.byte_size() / std::max<int64_t>(rows_, 1) != grown[k].byte_size() / capacity_) {
      throw invalid_argument("predict: outputs, got rows of {} after {}, expected one size",
                             results[k].type(), filled.type());
    }
    std::memcpy(grown[k].raw(), filled.raw(), static_cast<size_t>(filled.byte_size()));
  }
  outputs_ = std::move(grown);
}

void RowCollector::add(std::span<const Tensor> results, std::span<const int64_t> examples) {
  int64_t added = 0;
  for (const int64_t count : examples) added += count;
  reserve(rows_ + added, results);
  for (size_t k = 0; k < results.size(); ++k) {
    const Tensor& from = results[k];
    // [steps, replicas, batch of a replica, ...]: rows of a step lie together.
    const int64_t rows_of_step = from.dim(1) * from.dim(2);
    const int64_t row_bytes = from.byte_size() / (from.dim(0) * rows_of_step);
    if (row_bytes * capacity_ != outputs_[k].byte_size()) {
      throw invalid_argument("predict: output {}, got rows of {} after {}, expected one size", k,
                             from.type(), outputs_[k].type());
    }
    int64_t row = rows_;
    for (size_t step = 0; step < examples.size(); ++step) {
      std::memcpy(static_cast<char*>(outputs_[k].raw()) + row * row_bytes,
                  static_cast<const char*>(from.raw()) +
                      static_cast<int64_t>(step) * rows_of_step * row_bytes,
                  static_cast<size_t>(examples[step] * row_bytes));
      row += examples[step];
    }
  }
  rows_ += added;
}

std::vector<Tensor> RowCollector::take() {
  std::vector<Tensor> taken;
  for (const Tensor& output : outputs_) {
    taken.push_back(rows_ == capacity_ ? output : output.slice(0, rows_).clone());
  }
  return taken;
}

}  // namespace systole::keras
