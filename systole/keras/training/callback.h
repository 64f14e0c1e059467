// Code that runs between the steps and epochs of fit(). (tf.keras.callbacks.Callback)
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace systole::keras {

class ModelDefinition;

// Names and values, in the order in which Keras shows them. A callback may add to those of an
// epoch.
class Logs {
 public:
  double* find(std::string_view name) {
    for (auto& [key, value] : values_) {
      if (key == name) return &value;
    }
    return nullptr;
  }
  const double* find(std::string_view name) const { return const_cast<Logs*>(this)->find(name); }
  void set(std::string name, double value) {
    if (double* const found = find(name)) {
      *found = value;
    } else {
      values_.emplace_back(std::move(name), value);
    }
  }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  bool empty() const { return values_.empty(); }

 private:
  std::vector<std::pair<std::string, double>> values_;
};

// What a callback is told of the run.
struct FitParams {
  int64_t batch_size = 0;
  int64_t epochs = 0;
  int64_t steps = 0;    // batches of an epoch
  int64_t samples = 0;  // examples of an epoch
  int verbose = 1;
  bool do_validation = false;
  int64_t validation_samples = 0;
  std::vector<std::string> metrics;  // names, with those of validation
};

// Derive from it. Hooks are called on the thread that calls fit(). A callback that does not need
// each batch lets many steps run in one launch of the device: its batch hooks are then called after
// the launch, in order.
class Callback {
 public:
  virtual ~Callback() = default;
  virtual void on_train_begin() {}
  virtual void on_train_end() {}
  virtual void on_epoch_begin(int64_t epoch) { static_cast<void>(epoch); }
  virtual void on_epoch_end(int64_t epoch, Logs& logs) {
    static_cast<void>(epoch);
    static_cast<void>(logs);
  }
  virtual void on_batch_begin(int64_t batch) { static_cast<void>(batch); }
  virtual void on_batch_end(int64_t batch, const Logs& logs) {
    static_cast<void>(batch);
    static_cast<void>(logs);
  }
  // Returns true if batch hooks read or set weights: each batch is then a launch of its own.
  virtual bool needs_each_batch() const { return false; }

  // Set by fit() before on_train_begin().
  ModelDefinition* model = nullptr;
  FitParams params;
  // Shared by all callbacks of a run: true ends the training after this batch or epoch.
  bool* stop_training = nullptr;
};

using CallbackPtr = std::shared_ptr<Callback>;

}  // namespace systole::keras
