// What fit() needs to continue after it was killed: checkpoints of a trainer.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "systole/keras/training/callback.h"
#include "systole/keras/training/trainer.h"
#include "systole/train/loop/checkpointer.h"
#include "systole/train/loop/model_dir_lock.h"

namespace systole::keras {

// Checkpoints of train/loop in a directory: the weights, the optimizer's slots, iterations and
// hyperparameters, the random state, and the state of the run as bytes. Locks the directory. Not
// thread-safe.
class TrainingBackup {
 public:
  // Finds the newest checkpoint that can be read. Errors: FAILED_PRECONDITION when another process
  // uses the directory; those of the file system.
  explicit TrainingBackup(const BackupOptions& options);

  // The state of the run in that checkpoint; nullopt without one.
  const std::optional<std::string>& state() const { return state_; }
  // Sets the trainer's weights and random state from it. REQUIRES: state(); the programs of the run
  // are prepared. Errors: NOT_FOUND for the checkpoint of another model, with its variables.
  void restore(Trainer& trainer);

  int64_t save_steps() const { return options_.save_steps; }
  // Starts to write a checkpoint. Errors: those of writing the one before it; FAILED_PRECONDITION
  // if another process has taken the directory over.
  void save(Trainer& trainer, int64_t step, std::string state);
  // Waits until all is written; removes the checkpoints of a complete training.
  void finish(bool complete);

 private:
  BackupOptions options_;
  std::unique_ptr<ModelDirLock> lock_;
  std::string prefix_;
  std::optional<std::string> state_;
  std::unique_ptr<train::Checkpointer> checkpointer_;  // made by the first save
  std::unique_ptr<train::HookRunner> no_hooks_;
};

}  // namespace systole::keras
