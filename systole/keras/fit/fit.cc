#include "systole/keras/fit/fit.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "systole/base/error.h"
#include "systole/base/log.h"
#include "systole/keras/fit/backup.h"
#include "systole/keras/fit/interruption.h"
#include "systole/keras/fit/progress_bar.h"
#include "systole/keras/fit/running_means.h"
#include "systole/profile/triggers.h"
#include "systole/tracing/span.h"
#include "systole/train/loop/signals.h"
#include "systole/train/loop/step_driver.h"

namespace systole::keras {
namespace {

void save_history(StateWriter& writer, const History& history) {
  writer.number(history.epoch.size());
  for (const int64_t epoch : history.epoch) writer.number(static_cast<uint64_t>(epoch));
  writer.number(history.history.size());
  for (const auto& [name, values] : history.history) {
    writer.bytes(name);
    writer.number(values.size());
    for (const double value : values) writer.number(std::bit_cast<uint64_t>(value));
  }
}

History restored_history(StateReader& reader) {
  History history;
  for (size_t n = reader.count(); n > 0; --n) {
    history.epoch.push_back(static_cast<int64_t>(reader.number()));
  }
  for (size_t n = reader.count(); n > 0; --n) {
    std::vector<double>& values = history.history[std::string(reader.bytes())];
    for (size_t k = reader.count(); k > 0; --k) {
      values.push_back(std::bit_cast<double>(reader.number()));
    }
  }
  return history;
}

// As run_evaluate(), from zero states; states of stateful layers are afterwards as before.
std::optional<Scores> run_validation(ModelDefinition& model, Trainer& trainer, BatchFeed& feed,
                                     train::Heartbeat& heartbeat) {
  const std::vector<WeightPtr> states = model.states();
  std::vector<Tensor> before;
  for (const WeightPtr& state : states) before.push_back(state->value().clone());
  if (!states.empty()) model.reset_states({});
  std::optional<Scores> scores = run_evaluate(trainer, feed, heartbeat, 0);
  for (size_t i = 0; i < states.size(); ++i) states[i]->set_value(std::move(before[i]));
  return scores;
}

class FitRun : public train::StepListener {
 public:
  FitRun(const FitRunOptions& run, train::Heartbeat& heartbeat)
      : run_(run),
        trainer_(*run.trainer),
        options_(run.options),
        processes_(Trainer::processes(Phase::train)),
        heartbeat_(heartbeat),
        verbose_(is_first() ? options_.verbose : 0),
        steps_(run.train->steps()) {}

  History run() {
    open_callbacks();
    prepare();
    begin();
    bool whole = true;
    for (; epoch_ < options_.epochs && !stop_ && !signalled_; ++epoch_) {
      whole = run_epoch();
      agree();
      if (!whole) break;
      step_ = 0;
      input_done_ = false;
      if (backup_) save(epoch_ + 1);
    }
    if (backup_ && !whole) save(epoch_);
    for (const CallbackPtr& callback : callbacks_) callback->on_train_end();
    if (signalled_) note_signal();
    if (backup_) backup_->finish(history_.stopped_by.empty());
    return std::move(history_);
  }

 private:
  using End = train::StepDriver::End;

  static bool interrupted() { return StopSignals::received() != nullptr; }
  bool is_first() const { return processes_ == nullptr || processes_->rank() == 0; }

  // One process that stops or gets a signal ends all.
  void agree() {
    const auto [goes_on, quiet] =
        driver_->agreed({stop_ ? 0 : 1, interrupted() ? 0 : 1}, runtime::ProcessGroup::Wait::rare);
    stop_ = goes_on == 0;
    signalled_ = quiet == 0;
  }

  void note_signal() {
    const char* const own = StopSignals::received();
    history_.stopped_by = own != nullptr ? own : "a signal to another process";
    if (InterruptionsAreThrown::any()) return;
    log_warning(
        "fit: ended by {}; the program goes on, but the next training is refused, so that a loop "
        "of them ends",
        history_.stopped_by);
    if (own != nullptr) note_interruption(own);
  }

  void open_callbacks() {
    for (const CallbackPtr& callback : options_.callbacks) {
      if (callback == nullptr) throw invalid_argument("fit: callbacks, got a null pointer");
      if (is_first() || !callback->writes()) callbacks_.push_back(callback);
      const BackupOptions* const wanted = callback->backup();
      if (wanted == nullptr) continue;
      if (backup_) throw invalid_argument("fit: BackupAndRestore, got a second one, expected one");
      if (processes_ != nullptr && processes_->size() > 1) {
        throw unimplemented(
            "fit: BackupAndRestore, got it in one of {} processes that train together, expected "
            "one process: a TPUEstimator, made by keras::estimator::model_to_estimator(), saves "
            "checkpoints there",
            processes_->size());
      }
      backup_.emplace(*wanted);
    }
    epoch_ = options_.initial_epoch;
    if (!backup_ || !backup_->state()) return;
    StateReader reader(*backup_->state());
    restore_position(reader);
  }

  // The sources continue before they are read.
  void restore_position(StateReader& reader) {
    epoch_ = static_cast<int64_t>(reader.number());
    step_ = static_cast<int64_t>(reader.number());
    total_steps_ = static_cast<int64_t>(reader.number());
    stop_ = reader.flag();
    input_done_ = reader.flag();
    history_ = restored_history(reader);
    rest_ = reader.bytes();
    const std::string_view train = reader.bytes();
    if (complete()) return;  // the input may have ended
    StateReader train_reader(train);
    run_.train->restore(train_reader);
    const bool validates = reader.flag();
    if (validates != (run_.validation != nullptr)) {
      throw failed_precondition("fit: validation data, got {}, expected {}, as the backup has it",
                                run_.validation != nullptr ? "some" : "none",
                                validates ? "some" : "none");
    }
    if (!validates) return;
    StateReader validation(reader.bytes());
    run_.validation->restore(validation);
  }

  bool complete() const { return epoch_ >= options_.epochs || stop_; }

  void prepare() {
    const bool each = std::ranges::any_of(options_.callbacks, &Callback::needs_each_batch);
    feed_.emplace(*run_.train, trainer_, Phase::train, each ? 1 : 0);
    trainer_.prepare(Phase::train, feed_->batch_shape());
    driver_.emplace(train::StepDriverOptions{
        .input = &*feed_,
        .run =
            [this](const data::StackedSteps& batches) {
              return trainer_.run(Phase::train, feed_->batch_shape(), batches.stacks,
                                  batches.steps);
            },
        .processes = processes_,
        .runs_what_was_read = backup_.has_value(),  // which has the position of the input
        .work = "fit"});
    if (run_.validation != nullptr) {
      validation_feed_.emplace(*run_.validation, trainer_, Phase::test, 0);
      trainer_.prepare(Phase::test, validation_feed_->batch_shape());
      validation_position_ = validation_feed_->position();
    }
    if (backup_ && backup_->state()) backup_->restore(trainer_);
    trainer_.share_weights();
  }

  FitParams make_params() const {
    FitParams params{
        .batch_size = options_.batch_size,
        .epochs = options_.epochs,
        .steps = steps_.value_or(0),
        .samples = run_.train->examples(),
        .verbose = verbose_,
        .do_validation = run_.validation != nullptr,
        .validation_samples = run_.validation != nullptr ? run_.validation->examples() : 0,
        .metrics = trainer_.metrics_names()};
    if (run_.validation == nullptr) return params;
    for (const std::string& name : trainer_.metrics_names()) {
      params.metrics.push_back("val_" + name);
    }
    return params;
  }

  void begin() {
    means_.emplace(trainer_.running_metrics());
    const FitParams params = make_params();
    for (const CallbackPtr& callback : callbacks_) {
      callback->model = &run_.model;
      callback->params = params;
      callback->stop_training = &stop_;
      callback->on_train_begin();
    }
    if (!rest_.empty()) restore_rest();
    if (verbose_ == 0 || !run_.counts_examples) return;
    fmt::print(ProgressOutput::file(), "Train on {} samples", params.samples);
    if (params.do_validation && params.validation_samples > 0) {
      fmt::print(ProgressOutput::file(), ", validate on {} samples", params.validation_samples);
    }
    fmt::print(ProgressOutput::file(), "\n");
    std::fflush(ProgressOutput::file());
  }

  void restore_rest() {
    StateReader reader(rest_);
    means_->restore(reader);
    const size_t count = reader.count();
    if (count != callbacks_.size()) {
      log_warning("fit: the backup has the state of {} callbacks, this run has {}: they begin anew",
                  count, callbacks_.size());
      return;
    }
    for (const CallbackPtr& callback : callbacks_) {
      callback->restore_state(reader.bytes());
    }
  }

  // What follows next: `epoch`, after step_ of its steps.
  void save(int64_t epoch) {
    StateWriter rest;
    means_->save(rest);
    rest.number(callbacks_.size());
    for (const CallbackPtr& callback : callbacks_) rest.bytes(callback->save_state());
    StateWriter writer;
    writer.number(static_cast<uint64_t>(epoch));
    writer.number(static_cast<uint64_t>(step_));
    writer.number(static_cast<uint64_t>(total_steps_));
    writer.flag(stop_ && !interrupted());
    writer.flag(input_done_);
    save_history(writer, history_);
    writer.bytes(rest.data());
    writer.bytes(feed_->position());
    writer.flag(run_.validation != nullptr);
    if (run_.validation != nullptr) writer.bytes(validation_position_);
    backup_->save(trainer_, total_steps_, writer.take());
  }

  ProgressBar make_bar() const {
    if (run_.counts_examples) return ProgressBar(run_.train->examples(), "sample");
    return ProgressBar(steps_.value_or(seen_steps_), "step");
  }

  // Returns false if a signal came before its end.
  bool run_epoch() {
    ProgressBar bar = make_bar();
    bar_ = &bar;
    const std::string title = fmt::format("Epoch {}/{}", epoch_ + 1, options_.epochs);
    if (verbose_ == 2 || (verbose_ == 1 && bar.terminal())) {
      fmt::print(ProgressOutput::file(), "{}\n", title);
    }
    if (step_ == 0) {  // else the epoch began in the run that was killed
      trainer_.reset_metrics();
      means_.emplace(trainer_.running_metrics());
      for (const CallbackPtr& callback : callbacks_) callback->on_epoch_begin(epoch_);
    }
    if (!input_done_) {
      const End end = driver_->drive(*this, heartbeat_);
      loop_.reset();
      agree();
      if (end == End::input) note_end_of_input();
      if (end == End::stopped && !stop_ && !epoch_is_done()) return false;
    }
    // Data that ended with the last epoch make no epoch.
    return stop_ && step_ == 0 ? true : finish_epoch(bar, title);
  }

  bool epoch_is_done() const { return steps_ && step_ >= *steps_; }

  bool backup_is_due() const {
    return backup_ && backup_->save_steps() > 0 && !stop_ && !epoch_is_done() &&
           total_steps_ % backup_->save_steps() == 0;
  }

  // How many steps a launch may take that begins at this step of this epoch.
  int64_t launch_steps(int64_t step, int64_t total) const {
    int64_t steps = feed_->batch_shape().max_steps;
    if (steps_) steps = std::min(steps, *steps_ - step);
    for (const CallbackPtr& callback : callbacks_)
      steps = std::min(steps, std::max<int64_t>(callback->batches_of_launch(total), 1));
    if (backup_ && backup_->save_steps() > 0) steps = std::min(steps, steps_to_save(total));
    return steps;
  }
  int64_t steps_to_save(int64_t total) const {
    return backup_->save_steps() - total % backup_->save_steps();
  }

  // The steps to read while the device runs `steps`. None before a backup, which has the position
  // of the input.
  int64_t steps_ahead(int64_t steps) const {
    const bool ends = steps_ && step_ + steps >= *steps_;
    const bool saves =
        backup_ && (ends || interrupted() ||
                    (backup_->save_steps() > 0 && steps >= steps_to_save(total_steps_)));
    if (saves) return 0;
    if (!ends) return launch_steps(step_ + steps, total_steps_ + steps);
    return epoch_ + 1 < options_.epochs ? launch_steps(0, total_steps_ + steps) : 0;
  }

  int64_t position() const override { return total_steps_; }

  bool goes_on() override {
    if (driver_->agreed(stop_ || driver_->interrupted() ? 0 : 1) == 0) return false;
    loop_.emplace("loop", tracing::Kind::loop, tracing::Arg{"step", total_steps_});
    return true;
  }

  int64_t launch_limit(int64_t after) override {
    if (after > 0) return steps_ahead(after);
    return epoch_is_done() ? 0 : launch_steps(step_, total_steps_);
  }

  void before_launch(const data::StackedSteps& batches) override {
    loop_->set({"step", total_steps_}, {"steps", batches.steps});
    if (batches.steps == 1) batch_begin(step_);
  }

  // A callback of the first process may write, for which the others wait.
  bool saves_after(int64_t) const override { return true; }

  bool after_launch(const train::StepLaunch& launch) override {
    loop_.reset();  // before the callbacks, one of which may end the recording
    {
      const tracing::Span callbacks("callbacks", tracing::Kind::hook);
      report(launch.batches, launch.results[0].data<float>());
    }
    if (verbose_ == 1) {
      bar_->update(run_.counts_examples ? means_->examples() : step_,
                   make_logs(trainer_.metrics_names(), means_->means()));
    }
    if (backup_is_due()) save(epoch_);
    return !stop_;
  }

  void note_end_of_input() {
    seen_steps_ = step_;
    input_done_ = true;
    if (steps_ || step_ == 0) note_missing_data();
  }

  void note_missing_data() {
    log_warning(
        "fit: the input ran out of data; interrupting training. It should give at least {} "
        "batches (steps_per_epoch * epochs): a data set may need repeat()",
        steps_.value_or(1) * (options_.epochs - options_.initial_epoch));
    stop_ = true;
  }

  void report(const data::StackedSteps& stack, std::span<const float> values) {
    const size_t width = trainer_.metrics_names().size();
    const size_t stride = width * static_cast<size_t>(trainer_.placement().replicas);
    for (size_t i = 0; i < static_cast<size_t>(stack.steps); ++i) {
      const std::span<const float> of_step = values.subspan(i * stride, width);
      means_->add(of_step, stack.in_step[i]);
      warn_of_nan(of_step[0], stack, total_steps_ - static_cast<int64_t>(i));
      if (stack.steps > 1) batch_begin(step_);
      batch_end(of_step, stack.in_step[i]);
      ++step_;
      ++total_steps_;
    }
  }

  // `first`: the step before the batches.
  void warn_of_nan(float loss, const data::StackedSteps& batches, int64_t first) {
    if (warned_of_nan_ || std::isfinite(loss)) return;
    warned_of_nan_ = true;
    warn_of_loss(
        trainer_, Phase::train, *feed_, loss, batches, first,
        fmt::format("from batch {} of epoch {} on: look for nan or infinity in x, y and the "
                    "weights, or a learning rate that is too large; callbacks::TerminateOnNaN() "
                    "ends fit there",
                    step_ + 1, epoch_ + 1));
  }

  void batch_begin(int64_t batch) {
    for (const CallbackPtr& callback : callbacks_) callback->on_batch_begin(batch);
  }

  void batch_end(std::span<const float> values, int64_t examples) {
    if (callbacks_.empty()) return;
    Logs logs;
    logs.set("batch", static_cast<double>(step_));
    logs.set("size", static_cast<double>(examples));
    for (size_t k = 0; k < values.size(); ++k) {
      logs.set(trainer_.metrics_names()[k], static_cast<double>(values[k]));
    }
    for (const CallbackPtr& callback : callbacks_) callback->on_batch_end(step_, logs);
  }

  // Returns false if a signal ended the validation.
  bool finish_epoch(ProgressBar& bar, const std::string& title) {
    Logs logs = make_logs(trainer_.metrics_names(), means_->means());
    const bool whole = !stop_ || (steps_ && step_ == *steps_);
    if (validation_feed_ && whole) {
      const std::optional<Scores> scores =
          run_validation(*run_.model.model(), trainer_, *validation_feed_, heartbeat_);
      if (!scores) return false;
      validation_position_ = validation_feed_->position();
      for (size_t i = 0; i < scores->names.size(); ++i) {
        logs.set("val_" + scores->names[i], scores->values[i]);
      }
    }
    const Logs shown = logs;
    for (const CallbackPtr& callback : callbacks_) callback->on_epoch_end(epoch_, logs);
    history_.epoch.push_back(epoch_);
    for (const auto& [name, value] : logs) history_.history[name].push_back(value);
    if (verbose_ == 1) {
      if (!bar.terminal()) fmt::print(ProgressOutput::file(), "{} ", title);
      bar.finish(shown);
    }
    if (verbose_ == 2) bar.finish_without_bar(shown);
    return true;
  }

  const FitRunOptions& run_;
  Trainer& trainer_;
  const FitOptions& options_;
  runtime::ProcessGroup* const processes_;
  train::Heartbeat& heartbeat_;
  const int verbose_;
  std::vector<CallbackPtr> callbacks_;  // that this process calls
  std::optional<TrainingBackup> backup_;
  std::string rest_;  // of the restored state, for once the callbacks have begun

  std::optional<int64_t> steps_;  // of an epoch
  int64_t seen_steps_ = 0;        // of the last epoch, where steps_ is not known
  bool input_done_ = false;       // in this epoch
  std::string validation_position_;
  std::optional<BatchFeed> feed_;
  std::optional<BatchFeed> validation_feed_;
  std::optional<train::StepDriver> driver_;
  std::optional<tracing::Span> loop_;  // the launch that the driver prepares or runs
  ProgressBar* bar_ = nullptr;         // of the epoch

  int64_t epoch_ = 0;
  int64_t step_ = 0;  // of the epoch
  int64_t total_steps_ = 0;
  bool stop_ = false;
  bool signalled_ = false;  // a process was, at the last agreement
  bool warned_of_nan_ = false;
  std::optional<RunningMeans> means_;  // of the epoch
  History history_;
};

}  // namespace

History run_fit(FitRunOptions options) {
  check_not_interrupted("fit");
  const StopSignals signals("ends fit() after the steps under way");
  profile::install_triggers();
  const auto run = std::make_shared<const FitRunOptions>(std::move(options));
  const auto history = std::make_shared<History>();
  run_watched_in_graph(
      run->options.hang_timeout_secs, "FitOptions.hang_timeout_secs",
      [run, history](train::Heartbeat& heartbeat) { *history = FitRun(*run, heartbeat).run(); });
  return std::move(*history);
}

}  // namespace systole::keras
