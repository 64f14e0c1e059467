// ModelCheckpoint: files of the model while it trains.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "systole/base/error.h"
#include "systole/base/suggest.h"
#include "systole/data/state.h"
#include "systole/keras/files/saving.h"
#include "systole/keras/fit/callbacks.h"
#include "systole/keras/fit/monitor.h"
#include "systole/keras/fit/progress_bar.h"
#include "systole/keras/models/model.h"

namespace systole::keras {

namespace callbacks {
namespace {

// Replaces fields in Python's form, "{epoch:02d}" or "{val_loss:.2f}". Errors: INVALID_ARGUMENT for
// a name that is not in the logs, and for a format that does not fit.
std::string path_of_epoch(const std::string& form, int64_t epoch, const Logs& logs) {
  std::string path;
  for (size_t at = 0; at < form.size();) {
    if (form[at] != '{') {
      path += form[at++];
      continue;
    }
    const size_t end = form.find('}', at);
    if (end == std::string::npos) {
      throw invalid_argument("ModelCheckpoint: filepath, got '{}', expected a '}}' for each '{{'",
                             form);
    }
    const std::string field = form.substr(at + 1, end - at - 1);
    at = end + 1;
    const size_t colon = std::min(field.find(':'), field.size());
    const std::string name = field.substr(0, colon);
    const std::string format = "{" + field.substr(colon) + "}";
    const double* const value = logs.find(name);
    if (name != "epoch" && value == nullptr) {
      std::vector<std::string> names = {"epoch"};
      for (const auto& [known, number] : logs) names.push_back(known);
      throw invalid_argument("ModelCheckpoint: filepath '{}', got field '{}', expected one of {}{}",
                             form, name, fmt::join(names, ", "), did_you_mean(name, names));
    }
    try {
      path += name == "epoch" ? fmt::format(fmt::runtime(format), epoch + 1)
                              : fmt::format(fmt::runtime(format), *value);
    } catch (const fmt::format_error& error) {
      throw invalid_argument("ModelCheckpoint: filepath '{}', got format '{}' ({})", form, field,
                             error.what());
    }
  }
  return path;
}

class ModelCheckpointCallback : public Callback {
 public:
  ModelCheckpointCallback(std::string filepath, const ModelCheckpointOptions& options)
      : filepath_(std::move(filepath)),
        options_(options),
        monitor_("ModelCheckpoint", options.monitor, options.mode, 0) {
    if (options.period < 1) {
      throw invalid_argument("ModelCheckpoint: period, got {}, expected at least 1",
                             options.period);
    }
  }

  bool writes() const override { return true; }
  void on_train_begin() override {
    if (options_.save_best_only) monitor_.begin(params);
    best_ = monitor_.worst();
    since_save_ = 0;
    Logs example;
    for (const std::string& name : params.metrics) example.set(name, 0.5);
    static_cast<void>(path_of_epoch(filepath_, 0, example));
  }

  void on_epoch_end(int64_t epoch, Logs& logs) override {
    if (++since_save_ < options_.period) return;
    since_save_ = 0;
    const std::string path = path_of_epoch(filepath_, epoch, logs);
    if (!options_.save_best_only) {
      say("\nEpoch {:05}: saving model to {}\n", epoch + 1, path);
      save(path);
      return;
    }
    const double* const value = monitor_.value(logs);
    if (value == nullptr) return;
    if (!monitor_.better(*value, best_)) {
      say("\nEpoch {:05}: {} did not improve from {:.5f}\n", epoch + 1, monitor_.name(), best_);
      return;
    }
    say("\nEpoch {:05}: {} improved from {:.5f} to {:.5f}, saving model to {}\n", epoch + 1,
        monitor_.name(), best_, *value, path);
    best_ = *value;
    save(path);
  }

  std::string save_state() const override {
    StateWriter writer;
    writer.number(std::bit_cast<uint64_t>(best_));
    writer.number(static_cast<uint64_t>(since_save_));
    return writer.take();
  }
  void restore_state(std::string_view state) override {
    StateReader reader(state);
    best_ = std::bit_cast<double>(reader.number());
    since_save_ = static_cast<int64_t>(reader.number());
  }

 private:
  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) const {
    if (options_.verbose > 0)
      fmt::print(ProgressOutput::file(), format, std::forward<Args>(args)...);
  }

  void save(const std::string& path) const {
    if (options_.save_weights_only) {
      save_weights(*model, path);
    } else {
      save_model(*model, path);
    }
  }

  const std::string filepath_;
  const ModelCheckpointOptions options_;
  Monitor monitor_;
  double best_ = 0;
  int64_t since_save_ = 0;
};

}  // namespace

CallbackPtr ModelCheckpoint(const std::string& filepath, const ModelCheckpointOptions& options) {
  return std::make_shared<ModelCheckpointCallback>(filepath, options);
}

}  // namespace callbacks
}  // namespace systole::keras
