#include "systole/keras/fit/backup.h"

#include <utility>

#include "systole/base/error.h"
#include "systole/base/log.h"
#include "systole/io/checkpoints/checkpoint_state.h"
#include "systole/io/checkpoints/tensor_bundle.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/train/checkpoint_match.h"
#include "systole/train/saver.h"

namespace systole::keras {
namespace {

constexpr std::string_view kRunState = "keras_fit";

}  // namespace

TrainingBackup::TrainingBackup(const BackupOptions& options) : options_(options) {
  if (options_.directory.empty()) {
    throw invalid_argument("BackupAndRestore: directory, got none, expected one");
  }
  FileSystem& files = default_file_system();
  files.make_directories(options_.directory);
  lock_ = std::make_unique<ModelDirLock>(options_.directory);
  for (const std::string& prefix : find_checkpoints(files, options_.directory)) {
    try {
      BundleReader(files, prefix).verify();
      const CheckpointExtras extras = read_checkpoint_extras(files, prefix);
      const auto state = extras.find(std::string(kRunState));
      if (state == extras.end()) {
        throw failed_precondition(
            "{}: got a checkpoint without the state of a fit(), expected "
            "one of BackupAndRestore: give it a directory of its own",
            prefix);
      }
      prefix_ = prefix;
      state_ = state->second;
      return;
    } catch (const Error& error) {
      if (error.code() != Code::data_loss) throw;
      log_warning("{}: this backup cannot be read; going back to the one before it ({})", prefix,
                  error.message());
    }
  }
}

void TrainingBackup::restore(Trainer& trainer) {
  log_info("Restoring the training from {}", prefix_);
  CheckpointMatch match(
      "the backup is of another model: give BackupAndRestore another directory, or remove this "
      "one");
  for (const Variable& variable : trainer.variables()) match.add(variable.name(), variable);
  match.restore(trainer.session(), BundleReader(default_file_system(), prefix_));
  trainer.hold_weights();
  train::restore_random_state(trainer.session(),
                              read_checkpoint_extras(default_file_system(), prefix_));
}

void TrainingBackup::save(Trainer& trainer, int64_t step, std::string state) {
  lock_->check();
  trainer.upload();
  if (checkpointer_ == nullptr) {
    checkpointer_ = std::make_unique<train::Checkpointer>(
        options_.directory,
        SaverOptions{.var_list = trainer.variables(), .max_to_keep = 2, .write_meta_graph = false});
    no_hooks_ = std::make_unique<train::HookRunner>(HookList{}, trainer.session().graph());
  }
  checkpointer_->save(trainer.session(), step, *no_hooks_,
                      {{std::string(kRunState), std::move(state)}});
}

void TrainingBackup::finish(bool complete) {
  if (checkpointer_ != nullptr) checkpointer_->join();
  checkpointer_.reset();
  if (!complete || !options_.remove_when_complete) return;
  FileSystem& files = default_file_system();
  for (const std::string& name : files.list(options_.directory)) {
    if (name == "checkpoint" || name.starts_with("model.ckpt")) {
      files.remove(join_path(options_.directory, name));
    }
  }
}

}  // namespace systole::keras
