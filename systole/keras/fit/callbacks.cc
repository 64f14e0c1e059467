#include "systole/keras/fit/callbacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "systole/base/error.h"
#include "systole/data/state.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/keras/fit/monitor.h"
#include "systole/keras/fit/progress_bar.h"
#include "systole/keras/models/model.h"

namespace systole::keras::callbacks {
namespace {

WeightPtr learning_rate(const Model& model) {
  const OptimizerSpec optimizer = model.optimizer();
  WeightPtr lr = optimizer ? optimizer->lr() : nullptr;
  if (!lr) {
    throw make_error(Code::failed_precondition, "Optimizer must have a \"lr\" attribute.");
  }
  return lr;
}

class EarlyStoppingCallback : public Callback {
 public:
  explicit EarlyStoppingCallback(const EarlyStoppingOptions& options)
      : options_(options),
        monitor_("EarlyStopping", options.monitor, options.mode, options.min_delta) {}

  void on_train_begin() override {
    monitor_.begin(params);
    wait_ = 0;
    stopped_epoch_ = -1;
    best_ = options_.baseline.value_or(monitor_.worst());
  }

  void on_epoch_end(int64_t epoch, Logs& logs) override {
    const double* const value = monitor_.value(logs);
    if (value == nullptr) return;
    if (monitor_.better(*value, best_)) {
      best_ = *value;
      wait_ = 0;
      if (options_.restore_best_weights) keep_weights();
      return;
    }
    if (++wait_ < options_.patience) return;
    stopped_epoch_ = epoch;
    *stop_training = true;
    for (auto& [weight, best] : weights_) weight->set_value(best.clone());
  }

  std::string save_state() const override {
    StateWriter writer;
    writer.number(static_cast<uint64_t>(wait_));
    writer.number(std::bit_cast<uint64_t>(best_));
    writer.number(static_cast<uint64_t>(stopped_epoch_ + 1));
    Components best;
    for (const auto& [weight, value] : weights_) best.push_back(value);
    writer.row(best);
    return writer.take();
  }
  void restore_state(std::string_view state) override {
    StateReader reader(state);
    wait_ = static_cast<int64_t>(reader.number());
    best_ = std::bit_cast<double>(reader.number());
    stopped_epoch_ = static_cast<int64_t>(reader.number()) - 1;
    const Components best = reader.row();
    weights_.clear();
    const std::vector<WeightPtr> all = model->weights();
    for (size_t i = 0; i < std::min(best.size(), all.size()); ++i) {
      weights_.emplace_back(all[i], best[i]);
    }
  }

  void on_train_end() override {
    if (stopped_epoch_ >= 0 && options_.verbose > 0) {
      fmt::print(ProgressOutput::file(), "Epoch {:05}: early stopping\n", stopped_epoch_ + 1);
    }
  }

 private:
  void keep_weights() {
    weights_.clear();
    for (const WeightPtr& weight : model->weights()) {
      weights_.emplace_back(weight, weight->value().clone());
    }
  }

  const EarlyStoppingOptions options_;
  Monitor monitor_;
  int64_t wait_ = 0;
  int64_t stopped_epoch_ = -1;
  double best_ = 0;
  std::vector<std::pair<WeightPtr, Tensor>> weights_;
};

class ReduceLearningRateCallback : public Callback {
 public:
  explicit ReduceLearningRateCallback(const ReduceLROnPlateauOptions& options)
      : options_(options),
        monitor_("ReduceLROnPlateau", options.monitor, options.mode, options.min_delta) {
    if (options.factor >= 1) {
      throw invalid_argument("ReduceLROnPlateau does not support a factor >= 1.0, got {}",
                             options.factor);
    }
  }

  void on_train_begin() override {
    monitor_.begin(params);
    learning_rate(*model);
    best_ = monitor_.worst();
    wait_ = 0;
    cooldown_ = 0;
  }

  std::string save_state() const override {
    StateWriter writer;
    writer.number(std::bit_cast<uint64_t>(best_));
    writer.number(static_cast<uint64_t>(wait_));
    writer.number(static_cast<uint64_t>(cooldown_));
    return writer.take();
  }
  void restore_state(std::string_view state) override {
    StateReader reader(state);
    best_ = std::bit_cast<double>(reader.number());
    wait_ = static_cast<int64_t>(reader.number());
    cooldown_ = static_cast<int64_t>(reader.number());
  }

  void on_epoch_end(int64_t epoch, Logs& logs) override {
    const WeightPtr lr = learning_rate(*model);
    const double old = static_cast<double>(lr->value().item<float>());
    const double* const value = monitor_.value(logs);
    if (value != nullptr) update(epoch, *value, old, *lr);
    logs.set("lr", old);
  }

 private:
  void update(int64_t epoch, double value, double old, Weight& lr) {
    if (cooldown_ > 0) {
      --cooldown_;
      wait_ = 0;
    }
    if (monitor_.better(value, best_)) {
      best_ = value;
      wait_ = 0;
      return;
    }
    if (cooldown_ > 0 || ++wait_ < options_.patience || old <= options_.min_lr) return;
    const double reduced = std::max(old * options_.factor, options_.min_lr);
    lr.set_value(Tensor(static_cast<float>(reduced)));
    if (options_.verbose > 0) {
      fmt::print(ProgressOutput::file(),
                 "\nEpoch {:05}: ReduceLROnPlateau reducing learning rate to {}.\n", epoch + 1,
                 reduced);
    }
    cooldown_ = options_.cooldown;
    wait_ = 0;
  }

  const ReduceLROnPlateauOptions options_;
  Monitor monitor_;
  double best_ = 0;
  int64_t wait_ = 0;
  int64_t cooldown_ = 0;
};

class ScheduleCallback : public Callback {
 public:
  ScheduleCallback(std::function<double(int64_t, double)> schedule, int verbose)
      : schedule_(std::move(schedule)), verbose_(verbose) {}

  void on_epoch_begin(int64_t epoch) override {
    const WeightPtr lr = learning_rate(*model);
    const double rate = schedule_(epoch, static_cast<double>(lr->value().item<float>()));
    if (!std::isfinite(rate) || rate < 0) {
      throw invalid_argument("LearningRateScheduler: the schedule returned {} for epoch {}", rate,
                             epoch);
    }
    lr->set_value(Tensor(static_cast<float>(rate)));
    if (verbose_ > 0) {
      fmt::print(ProgressOutput::file(),
                 "\nEpoch {:05}: LearningRateScheduler setting learning rate to {}.\n", epoch + 1,
                 rate);
    }
  }

 private:
  std::function<double(int64_t, double)> schedule_;
  int verbose_;
};

class CsvCallback : public Callback {
 public:
  CsvCallback(std::string filename, CSVLoggerOptions options)
      : filename_(std::move(filename)), options_(std::move(options)) {}

  bool writes() const override { return true; }
  void on_train_begin() override {
    FileSystem& files = default_file_system();
    text_ = options_.append && files.exists(filename_) ? read_file(files, filename_) : "";
    header_ = text_.empty();
    rewrite();
  }

  void on_epoch_end(int64_t epoch, Logs& logs) override {
    const std::map<std::string, double> sorted(logs.begin(), logs.end());
    std::string line;
    if (header_) {
      line = "epoch";
      for (const auto& [name, value] : sorted) line += options_.separator + name;
      line += "\n";
      header_ = false;
    }
    line += std::to_string(epoch);
    for (const auto& [name, value] : sorted) line += fmt::format("{}{}", options_.separator, value);
    line += "\n";
    text_ += line;
    file_->append(line);
    file_->flush();
  }

  void on_train_end() override {
    file_->close();
    file_.reset();
  }

  std::string save_state() const override { return (header_ ? "0" : "1") + text_; }
  // Drops the lines of epochs after the backup.
  void restore_state(std::string_view state) override {
    header_ = state.substr(0, 1) == "0";
    text_ = state.substr(1);
    rewrite();
  }

 private:
  void rewrite() {
    file_.reset();
    file_ = default_file_system().create(filename_);
    file_->append(text_);
    file_->flush();
  }

  std::string filename_;
  CSVLoggerOptions options_;
  std::string text_;  // all that is in the file
  std::unique_ptr<WritableFile> file_;
  bool header_ = true;
};

class BackupCallback : public Callback {
 public:
  BackupCallback(const std::string& directory, const BackupAndRestoreOptions& options)
      : options_{.directory = directory,
                 .save_steps = options.save_freq,
                 .remove_when_complete = options.delete_checkpoint} {
    if (options.save_freq < 0) {
      throw invalid_argument("BackupAndRestore: save_freq, got {}, expected steps, or 0",
                             options.save_freq);
    }
  }
  const BackupOptions* backup() const override { return &options_; }

 private:
  BackupOptions options_;
};

class HistoryKeeper : public Callback {
 public:
  explicit HistoryKeeper(History& history) : history_(history) {}
  void on_train_begin() override { history_ = History(); }
  void on_epoch_end(int64_t epoch, Logs& logs) override {
    history_.epoch.push_back(epoch);
    for (const auto& [name, value] : logs) history_.history[name].push_back(value);
  }

 private:
  History& history_;
};

class NanCallback : public Callback {
 public:
  void on_batch_end(int64_t batch, const Logs& logs) override {
    const double* const loss = logs.find("loss");
    if (loss == nullptr || std::isfinite(*loss) || *stop_training) return;
    fmt::print(ProgressOutput::file(), "Batch {}: Invalid loss, terminating training\n", batch);
    *stop_training = true;
  }
};

class FunctionsCallback : public Callback {
 public:
  explicit FunctionsCallback(LambdaCallbackOptions f) : f_(std::move(f)) {}
  bool needs_each_batch() const override { return f_.on_batch_begin || f_.on_batch_end; }
  void on_epoch_begin(int64_t epoch) override {
    if (f_.on_epoch_begin) f_.on_epoch_begin(epoch);
  }
  void on_epoch_end(int64_t epoch, Logs& logs) override {
    if (f_.on_epoch_end) f_.on_epoch_end(epoch, logs);
  }
  void on_batch_begin(int64_t batch) override {
    if (f_.on_batch_begin) f_.on_batch_begin(batch);
  }
  void on_batch_end(int64_t batch, const Logs& logs) override {
    if (f_.on_batch_end) f_.on_batch_end(batch, logs);
  }
  void on_train_begin() override {
    if (f_.on_train_begin) f_.on_train_begin();
  }
  void on_train_end() override {
    if (f_.on_train_end) f_.on_train_end();
  }

 private:
  LambdaCallbackOptions f_;
};

}  // namespace

CallbackPtr EarlyStopping(const EarlyStoppingOptions& options) {
  return std::make_shared<EarlyStoppingCallback>(options);
}
CallbackPtr ReduceLROnPlateau(const ReduceLROnPlateauOptions& options) {
  return std::make_shared<ReduceLearningRateCallback>(options);
}
CallbackPtr LearningRateScheduler(std::function<double(int64_t, double)> schedule, int verbose) {
  return std::make_shared<ScheduleCallback>(std::move(schedule), verbose);
}
CallbackPtr LearningRateScheduler(std::function<double(int64_t)> schedule, int verbose) {
  return LearningRateScheduler(
      [schedule = std::move(schedule)](int64_t epoch, double) { return schedule(epoch); }, verbose);
}
CallbackPtr CSVLogger(const std::string& filename, const CSVLoggerOptions& options) {
  return std::make_shared<CsvCallback>(filename, options);
}
CallbackPtr BackupAndRestore(const std::string& backup_dir,
                             const BackupAndRestoreOptions& options) {
  return std::make_shared<BackupCallback>(backup_dir, options);
}
CallbackPtr HistoryCallback(History& history) { return std::make_shared<HistoryKeeper>(history); }
CallbackPtr TerminateOnNaN() { return std::make_shared<NanCallback>(); }
CallbackPtr LambdaCallback(const LambdaCallbackOptions& options) {
  return std::make_shared<FunctionsCallback>(options);
}

}  // namespace systole::keras::callbacks
