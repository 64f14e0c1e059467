// Keras's callbacks. (tf.keras.callbacks)
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "systole/keras/training/callback.h"

// NOLINTBEGIN(readability-identifier-naming): the names of Keras.
namespace systole::keras::callbacks {

// Which of two values of a monitored metric is better: "min", "max", or "auto": max for names with
// "acc" in them. Common to the callbacks that monitor a name: `acc` and `accuracy` mean the same. A
// name that the model does not report is INVALID_ARGUMENT at the start of the training, with the
// names that it does report.

struct EarlyStoppingOptions {
  std::string monitor = "val_loss";
  double min_delta = 0;  // a smaller improvement does not count
  int64_t patience = 0;  // epochs without improvement before training stops
  int verbose = 0;
  std::string mode = "auto";
  std::optional<double> baseline = std::nullopt;
  bool restore_best_weights = false;
};
CallbackPtr EarlyStopping(const EarlyStoppingOptions& options = {});

struct ReduceLROnPlateauOptions {
  std::string monitor = "val_loss";
  double factor = 0.1;
  int64_t patience = 10;
  int verbose = 0;
  std::string mode = "auto";
  double min_delta = 1e-4;
  int64_t cooldown = 0;
  double min_lr = 0;
};
// Multiplies the learning rate by `factor` after `patience` epochs without improvement, and adds
// `lr` to the logs.
CallbackPtr ReduceLROnPlateau(const ReduceLROnPlateauOptions& options = {});

// Sets the learning rate at the begin of each epoch: schedule(epoch, lr).
CallbackPtr LearningRateScheduler(std::function<double(int64_t epoch, double lr)> schedule,
                                  int verbose = 0);

struct CSVLoggerOptions {
  std::string separator = ",";
  bool append = false;
};
// Writes a line an epoch: the epoch, then the logs sorted by name.
CallbackPtr CSVLogger(const std::string& filename, const CSVLoggerOptions& options = {});

// Stops after a batch whose loss is NaN or infinite.
CallbackPtr TerminateOnNaN();

struct LambdaCallbackOptions {
  std::function<void(int64_t epoch)> on_epoch_begin = nullptr;
  std::function<void(int64_t epoch, Logs& logs)> on_epoch_end = nullptr;
  std::function<void(int64_t batch)> on_batch_begin = nullptr;
  std::function<void(int64_t batch, const Logs& logs)> on_batch_end = nullptr;
  std::function<void()> on_train_begin = nullptr;
  std::function<void()> on_train_end = nullptr;
};
CallbackPtr LambdaCallback(const LambdaCallbackOptions& options);

}  // namespace systole::keras::callbacks
// NOLINTEND(readability-identifier-naming)
