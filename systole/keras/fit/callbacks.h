// Keras's callbacks. (tf.keras.callbacks)
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "systole/keras/training/callback.h"
#include "systole/keras/training/history.h"

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

// Sets the learning rate at the begin of each epoch: schedule(epoch, lr) or schedule(epoch).
CallbackPtr LearningRateScheduler(std::function<double(int64_t epoch, double lr)> schedule,
                                  int verbose = 0);
CallbackPtr LearningRateScheduler(std::function<double(int64_t epoch)> schedule, int verbose = 0);

struct CSVLoggerOptions {
  std::string separator = ",";
  bool append = false;
};
// Writes a line an epoch: the epoch, from 0, then the logs sorted by name. The file may be on any
// file system (io/file_systems). Errors: those of the file system.
CallbackPtr CSVLogger(const std::string& filename, const CSVLoggerOptions& options = {});

struct ModelCheckpointOptions {
  std::string monitor = "val_loss";
  int verbose = 0;
  bool save_best_only = false;
  bool save_weights_only = false;
  std::string mode = "auto";
  int64_t period = 1;  // epochs between saves
};
// Saves the model, or its weights, after epochs. `filepath` may have fields in Python's form:
// "weights.{epoch:02d}-{val_loss:.2f}.h5", where the first epoch is 1. Errors at the start of the
// training: INVALID_ARGUMENT for fields that the model does not report, and for bad formats.
CallbackPtr ModelCheckpoint(const std::string& filepath,
                            const ModelCheckpointOptions& options = {});

// "batch", "epoch", or a number of examples.
class UpdateFreq {
 public:
  // Errors: INVALID_ARGUMENT for another text or a number below 1.
  UpdateFreq(const char* text);  // NOLINT(google-explicit-constructor)
  UpdateFreq(int64_t examples);  // NOLINT(google-explicit-constructor)
  UpdateFreq(int examples) : UpdateFreq(int64_t{examples}) {}  // NOLINT
  // Examples between two writes; 0: each batch, -1: none.
  int64_t examples() const { return examples_; }

 private:
  int64_t examples_;
};

// Batches to profile, counted from 1: one, or from the first to the last of two; 0: none.
class ProfileBatch {
 public:
  // Errors: INVALID_ARGUMENT for negative numbers, and for a last batch before the first.
  ProfileBatch(int batch) : ProfileBatch(batch, batch) {}  // NOLINT(google-explicit-constructor)
  ProfileBatch(int64_t first, int64_t last);
  int64_t first() const { return first_; }
  int64_t last() const { return last_; }

 private:
  int64_t first_;
  int64_t last_;
};

struct TensorBoardOptions {
  std::string log_dir = "./logs";
  int64_t histogram_freq = 0;  // epochs between histograms of the weights; 0: none
  bool write_graph = true;
  bool write_images = false;  // weights as pictures, together with the histograms
  UpdateFreq update_freq = "batch";
  ProfileBatch profile_batch = 0;
};
// Writes event files: `epoch_<name>` at each epoch's index and, by update_freq, `batch_<name>` at
// the number of batches before; histograms of weights as `<layer>/<weight>_0`; pictures of weights
// of up to three axes as `<layer>/<weight>_0/image`, of three axes the first three [rows, columns]
// as `.../image/0` and so on. A profile of batches covers the launches that they are part of; the
// page Profile of TensorBoard shows it (docs/profiling.md).
CallbackPtr TensorBoard(const TensorBoardOptions& options = {});

struct BackupAndRestoreOptions {
  // Steps between backups, besides those after each epoch; 0: only those.
  int64_t save_freq = 0;
  // Removes the backups when fit() completes, as TensorFlow 2 does; false keeps them.
  bool delete_checkpoint = true;
};
// Resumes a fit() whose process was killed: the same program, run again, continues
// from the last backup, and its weights, History and logs are bit for bit those of a run that was
// not killed. Backups have the weights, the optimizer's state, the random numbers, the position in
// the input and its order, and the state of the other callbacks. A generator is called again for
// the batches that were taken; on_epoch_end() of a Sequence is called for each epoch that was
// complete. Layers that draw random numbers, such as Dropout, need set_random_seed() or a seed of
// their own. One process uses the directory at a time. (tf.keras.callbacks.BackupAndRestore)
CallbackPtr BackupAndRestore(const std::string& backup_dir,
                             const BackupAndRestoreOptions& options = {});

struct RemoteMonitorOptions {
  std::string root = "http://localhost:9000";
  std::string path = "/publish/epoch/end/";
  std::string field = "data";  // of the form that holds the JSON
  std::map<std::string, std::string> headers = {};
  bool send_as_json = false;  // the JSON as the body, in place of a form
};
// Posts {"epoch": 0, "loss": ..., ...} to root + path after each epoch. A server that does not
// answer within ten seconds, or with an error, gets a warning in the log; training continues.
CallbackPtr RemoteMonitor(const RemoteMonitorOptions& options = {});

// Fills a History that outlives the training, for programs that look at it while it grows.
CallbackPtr HistoryCallback(History& history);

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
// With a function of batches each batch is a launch of its own; a class that derives from Callback
// may leave that out.
CallbackPtr LambdaCallback(const LambdaCallbackOptions& options);

}  // namespace systole::keras::callbacks
// NOLINTEND(readability-identifier-naming)
