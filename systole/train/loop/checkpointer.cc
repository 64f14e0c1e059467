#include "systole/train/loop/checkpointer.h"

#include <utility>

#include "systole/base/log.h"

namespace systole::train {

Checkpointer::Checkpointer(std::string directory, SaverOptions options, RestoreOptions restore)
    : directory_(std::move(directory)),
      path_(directory_ + "/model.ckpt"),
      restore_(restore),
      saver_(std::move(options)),
      async_saver_(saver_) {}

bool Checkpointer::restore_variables(Session& session) {
  RestoredCheckpoint found = saver_.restore_latest(session, directory_, restore_);
  if (found.prefix.empty()) return false;
  log_info("Restoring parameters from {}", found.prefix);
  restored_ = std::move(found.extras);
  if (!restored_.contains("random")) {
    log_warning("{}: no input position and random numbers beside the weights; both start anew",
                found.prefix);
  }
  return true;
}

void Checkpointer::restore_rest(Session& session, HookRunner& hooks) const {
  restore_random_state(session, restored_);
  hooks.restore_states(restored_);
}

std::optional<std::string> Checkpointer::restored(const std::string& name) const {
  const auto found = restored_.find(name);
  return found == restored_.end() ? std::nullopt : std::optional(found->second);
}

void Checkpointer::save(Session& session, int64_t global_step, const HookRunner& hooks,
                        CheckpointExtras extras) {
  log_info("Saving checkpoints for {} into {}.", global_step, path_);
  extras["random"] = session.random_state();
  hooks.save_states(extras);
  async_saver_.save(session, path_, {.global_step = global_step, .extras = std::move(extras)});
}

}  // namespace systole::train
