// Checkpoints of a training: everything that it needs to continue exactly.
#pragma once

#include <optional>
#include <string>

#include "systole/train/async_saver.h"
#include "systole/train/loop/hook_runner.h"
#include "systole/train/saver.h"

namespace systole::train {

// Saves variables, random state, the state of hooks and what the caller adds (the position in its
// input), and restores them. Used by one thread; files are written by another.
class Checkpointer {
 public:
  // Checkpoints are `directory`/model.ckpt-N. Errors: those of a Saver.
  Checkpointer(std::string directory, SaverOptions options, RestoreOptions restore = {});

  // Sets the variables from the newest checkpoint that can be read. Returns false when there is
  // none. Errors: those of Saver::restore_latest.
  bool restore_variables(Session& session);
  // After the variables have values: sets the random state, and gives hooks their state, from the
  // restored checkpoint. Without one, or where it is of another graph, they start fresh.
  void restore_rest(Session& session, HookRunner& hooks) const;
  // What the caller added to the restored checkpoint under this name.
  std::optional<std::string> restored(const std::string& name) const;

  // Takes a snapshot and starts to write it. Errors: those of AsyncSaver::save.
  void save(Session& session, int64_t global_step, const HookRunner& hooks,
            CheckpointExtras extras = {});
  // Waits until the last checkpoint is written. Errors: those of writing it.
  void join() { async_saver_.join(); }
  // "DIRECTORY/model.ckpt".
  const std::string& path() const { return path_; }

 private:
  std::string directory_;
  std::string path_;
  RestoreOptions restore_;
  Saver saver_;
  AsyncSaver async_saver_;
  CheckpointExtras restored_;
};

}  // namespace systole::train
