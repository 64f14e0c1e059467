// Code that runs between the steps and epochs of fit(). (tf.keras.callbacks.Callback)
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "systole/keras/training/logs.h"

namespace systole::keras {

class Model;

// What a callback is told of the run.
struct FitParams {
  int64_t batch_size = 0;
  int64_t epochs = 0;
  int64_t steps = 0;    // batches of an epoch; 0 when not known
  int64_t samples = 0;  // examples of an epoch; 0 when not known
  int verbose = 1;
  bool do_validation = false;
  int64_t validation_samples = 0;
  std::vector<std::string> metrics;  // names, with those of validation
};

// Where and when fit() saves all that it needs to continue after it was killed.
struct BackupOptions {
  std::string directory;
  int64_t save_steps = 0;  // besides after each epoch; 0: only then
  // Whether the backups are removed once the training is complete.
  bool remove_when_complete = true;
};

// The base class of callbacks of fit(). All hooks of a fit() are called on one thread, which is not
// the caller's unless FitOptions::hang_timeout_secs is 0; the caller waits meanwhile. If no
// callback needs each batch, one launch of the device runs many steps, and the batch hooks are
// called after the launch, in order.
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
  // Returns true if it writes what one process is to write. Of several that train together, others
  // than the first do not call it.
  virtual bool writes() const { return false; }
  // Returns true if batch hooks read or set weights: each batch is then a launch of its own.
  virtual bool needs_each_batch() const { return false; }
  // Returns how many batches may run in a launch, at most, that begins after so many of this run:
  // its batch hooks are then called. At least 1.
  virtual int64_t batches_of_launch(int64_t batches) const {
    static_cast<void>(batches);
    return INT64_MAX;
  }

  // What the callback needs to continue in another process where this one was at the end of a batch
  // or epoch (BackupAndRestore). restore_state() is called after on_train_begin().
  virtual std::string save_state() const { return ""; }
  virtual void restore_state(std::string_view state) { static_cast<void>(state); }
  // Where fit() keeps its backups, if this callback asks for them.
  virtual const BackupOptions* backup() const { return nullptr; }

  // Set by fit() before on_train_begin(): the model in training. Its get_weights(), set_weights()
  // and optimizer()->lr() see the values after the last step.
  const Model* model = nullptr;
  FitParams params;
  // Shared by all callbacks of a run: true ends the training after this batch or epoch.
  bool* stop_training = nullptr;
};

using CallbackPtr = std::shared_ptr<Callback>;

}  // namespace systole::keras
